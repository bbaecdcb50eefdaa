export declare function knows(language: string): boolean;
/** Spans with classes that begin with `hljs-`, and a handful of entities. */
export declare function toHtml(code: string, language: string): string;
