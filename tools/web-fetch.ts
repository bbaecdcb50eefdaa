// WebFetch (SPEC O20): one page of the public web as Markdown, or the lesser model's answer from it. Every new host is asked about, in
// every mode; what may be dialled and how long it may take is the WebPort's.

import * as z from 'zod';
import { defineTool, type ToolContext, type ToolResponse } from '../shared/define-tool.ts';
import { fail, type Outcome, ok } from '../shared/outcome.ts';
import type { WebPage } from '../shared/web-port.ts';
import { answerText, pageQuestion, pageText, redirectText } from './web-fetch-text.ts';
import { mayCarryData } from './web-leak.ts';

const schema = z.strictObject({
  url: z.string().min(1).max(4_000).describe('Whole address, http or https'),
  prompt: z.string().max(4_000).optional().describe('What to find out from the page; "" for the page itself'),
});
type Args = z.infer<typeof schema>;

export const webFetchTool = defineTool<Args>({
  name: 'WebFetch',
  version: '1',
  description:
    'Reads one public web page: HTML as Markdown, JSON, text; no PDF, no login. With a prompt a lesser model answers from the page, ' +
    'without one you get the page. The user is asked about each new host.',
  schema,
  effect: 'read',
  async preHook(args, ctx) {
    const target = await ctx.web.target(args.url);
    if (!target.ok) return { verdict: 'deny', code: target.failure.code, message: target.failure.message };
    const { url, host } = target.value;
    const isKnown = ctx.web.knows(url);
    const leak = !isKnown && ctx.commandRules().tainted !== undefined ? mayCarryData(url) : null;
    if (leak !== null) return { verdict: 'deny', code: 'may_leak', message: leakText(leak) };
    return {
      verdict: 'ask',
      title: `Read a page of ${host}?`,
      reasons: [isKnown ? 'a page of the web is asked for' : 'the model wrote this address itself'],
      detail: url,
      host,
      args: { ...args, url },
    };
  },
  async execute({ url, prompt = '' }, ctx) {
    // What was asked about, judged once more: a resumed call comes here again.
    const target = await ctx.web.target(url);
    if (!target.ok) return target;
    const answer = await ctx.web.fetch(target.value, ctx.signal, (line) => ctx.report(line));
    if (!answer.ok) return answer;
    if (answer.value.kind === 'elsewhere') {
      const { target: next } = answer.value;
      return ok({
        text: redirectText(url, next),
        description: `Redirects to ${next.host}`,
        data: { redirect: next.url },
      });
    }
    return answered(answer.value.page, url, prompt.trim(), ctx);
  },
});

async function answered(page: WebPage, url: string, prompt: string, ctx: ToolContext): Promise<Outcome<ToolResponse>> {
  const { host, pathname } = new URL(page.url);
  const data = { url: page.url, chars: page.text.length, bytes: page.bytes, format: page.format };
  const description = `Read ${host}${pathname}`;
  if (page.text.trim() === '') {
    return fail('failed', 'no_text', [`${page.url} has no text to read.`, ...page.notes].join(' '));
  }
  if (prompt === '') return ok({ text: pageText(page, url), description, data });
  ctx.report('Asking the lesser model');
  const answer = await ctx.model.complete(pageQuestion(page, prompt), ctx.signal);
  if (answer.ok) return ok({ text: answerText(page, answer.value, url), description, data });
  if (ctx.signal.aborted) return answer;
  const why = `The lesser model could not answer (${answer.failure.message}), so here is the page.`;
  return ok({ text: `${why}\n${pageText(page, url)}`, description, data });
}

const leakText = (what: string): string =>
  `The address has ${what}, and neither the user nor a page that was read has named it. This session has read text that others wrote, ` +
  'so the address could carry something out. Use one from the user or from a page, or ask the user to send this one.';
