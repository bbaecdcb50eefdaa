// What goes wrong with a provider, in words for one line (docs/troubles.md has them all).

const WORDS: Readonly<Record<string, string>> = {
  rate_limit: 'rate limit',
  overloaded: 'the provider is overloaded',
  server_error: 'the provider failed',
  network: 'no connection',
  stalled_stream: 'the answer stalled',
  cut_stream: 'the answer broke off',
  auth: 'the key was refused',
  quota: 'the credit is used up',
  unknown_model: 'the model is not there',
  bad_request: 'the request was refused',
  bad_response: 'that is no answer of a model',
  context_too_long: 'the conversation is too long',
  refusal: 'the model declined',
  output_limit: 'the answer was cut off',
  empty_answer: 'no answer',
  step_timeout: 'the answer took too long',
};

export const troubleWords = (code: string): string => WORDS[code] ?? code.replaceAll('_', ' ');
