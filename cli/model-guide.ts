// What a person reads when no model was found: a short guide in a terminal, the same in three lines elsewhere.

const short = (
  odin: string,
): string => `no model was found. Log in: ${odin} login. Or set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENAI_BASE_URL, or start Ollama.
Or name one: --model provider/name, or "model" in odinconfig.json or in config.json of $ODIN_HOME (~/.odin).
To see Odin work without a model: ${odin} demo`;

const long = (odin: string): string => `no model was found. Odin needs one to plan and answer. Choose:

  log in               ${odin} login   (asks for a key, tests it and keeps it)
  Claude               export ANTHROPIC_API_KEY=…
  OpenAI               export OPENAI_API_KEY=…
  a compatible server  export OPENAI_BASE_URL=http://127.0.0.1:8080/v1
  a local Ollama       ollama serve   (found by itself)
  a certain model      ${odin} run --model provider/name "…"
                       or "model": "provider/name" in odinconfig.json
                       or ~/.odin/config.json

To see Odin work on this folder without a model:  ${odin} demo
To check what is there and what is missing:       ${odin} doctor`;

/** Names the command as it was given: who came by `npm start` has no `odin` on the PATH yet. */
export function modelGuide(isTerminal: boolean, npmScript = process.env['npm_lifecycle_event']): string {
  const odin = npmScript === 'start' ? 'npm start --' : 'odin';
  return isTerminal ? long(odin) : short(odin);
}
