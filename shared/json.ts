// The values that may cross a process, a thread or the journal: plain JSON and nothing else.

/** A JSON value. Journal events, machine contexts and thread frames are made of these alone. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A JSON object. */
export type JsonObject = { readonly [key: string]: Json };
