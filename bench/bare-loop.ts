// The floor of bench/turn: the shortest honest agent loop on the same SDK. No journal, no queue, no validation.
// Arguments: base URL of the model server, folder to work in, prompt.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';

const [, , baseURL, folder, prompt] = process.argv as unknown as [string, string, string, string, string];
const client = new Anthropic({ baseURL, apiKey: 'bench', maxRetries: 0 });
const tools: Anthropic.Tool[] = [
  {
    name: 'ReadFile',
    description: 'Reads a file.',
    input_schema: { type: 'object', properties: { file_path: { type: 'string' } }, required: ['file_path'] },
  },
];
const messages: Anthropic.MessageParam[] = [{ role: 'user', content: prompt }];
for (;;) {
  const stream = client.messages.stream({
    model: 'scripted',
    max_tokens: 4096,
    system: 'You read files.',
    tools,
    messages,
  });
  const answer = await stream.finalMessage();
  messages.push({ role: 'assistant', content: answer.content });
  const calls = answer.content.filter((block) => block.type === 'tool_use');
  if (answer.stop_reason !== 'tool_use' || calls.length === 0) {
    process.stdout.write(answer.content.map((block) => (block.type === 'text' ? block.text : '')).join(''));
    break;
  }
  const results = calls.map(async (call): Promise<Anthropic.ToolResultBlockParam> => {
    const { file_path } = call.input as { file_path: string };
    return { type: 'tool_result', tool_use_id: call.id, content: await readFile(join(folder, file_path), 'utf8') };
  });
  messages.push({ role: 'user', content: await Promise.all(results) });
}
