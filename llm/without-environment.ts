// Makes an SDK's client that takes nothing from the environment. What a constructor can be told is told to it; some variables it
// reads whatever it is told, and adds to what it was given.

/** Headers that the SDKs put on every request. */
const READ_ANYWAY = ['ANTHROPIC_CUSTOM_HEADERS', 'OPENAI_CUSTOM_HEADERS'];

/** What `make` returns, made while those variables are not there. It must not wait: nobody else may miss them. */
export function withoutEnvironment<T extends object>(make: () => T): T {
  const { env } = process;
  const before = READ_ANYWAY.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  for (const [name] of before) delete env[name];
  try {
    return make();
  } finally {
    for (const [name, value] of before) env[name] = value;
  }
}
