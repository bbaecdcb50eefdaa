import { expect, test } from '@jest/globals';
import type { PageInput } from '../../shared/heavy-task.ts';
import type { WebDocument } from '../../shared/web-port.ts';
import { readPage } from '../../workers/heavy-page.ts';
import { weighHtml } from '../../workers/html-limits.ts';

const input = (bytes: string | Uint8Array, contentType: string, more: Partial<PageInput> = {}): PageInput => ({
  bytes: typeof bytes === 'string' ? new TextEncoder().encode(bytes) : new Uint8Array(bytes),
  contentType,
  charset: null,
  url: 'https://docs.example.com/guide/page.html',
  ...more,
});

async function read(
  bytes: string | Uint8Array,
  contentType: string,
  more: Partial<PageInput> = {},
): Promise<WebDocument> {
  const outcome = await readPage(input(bytes, contentType, more), () => {});
  if (!outcome.ok) throw new Error(outcome.failure.message);
  return outcome.value;
}
const markdown = async (body: string): Promise<string> =>
  (await read(`<title>T</title><main><h1>T</h1>${body}</main>`, 'text/html')).text;

test('O20: HTML becomes Markdown with a title, headings, lists, code, tables and whole links', async () => {
  const page = await read(
    `<html><head><title>Guide | Site</title></head><body>
    <nav><a href="/">Home</a></nav><main><h1>Guide<a class="anchor" href="#guide">¶</a></h1>
    <h2 id="use"><a href="#use">Use</a></h2><p>Call <code>snake_case_name</code> or a_b_c, see <a href="../api#x" title="t">the API</a>.</p>
    <ol start="3"><li>three</li><li>four<ul><li>inner</li></ul></li></ol><ul><li><input type="checkbox" checked>done</li><li><input type="checkbox">open</li></ul>
    <pre><code class="language-ts">const a: number = 1;\n\nif (a &lt; 2) {}\n</code></pre>
    <table><thead><tr><th>Name</th><th>Size</th></tr></thead><tbody><tr><td><code>a|b</code></td><td>1<ul><li>x</li><li>y</li></ul></td></tr></tbody></table>
    </main><footer>© us</footer></body></html>`,
    'text/html',
  );
  expect(page).toMatchObject({
    format: 'markdown',
    title: 'Guide',
    links: ['https://docs.example.com/api'],
    notes: [],
  });
  expect(page.text).toBe(
    [
      '# Guide',
      '## Use',
      'Call `snake_case_name` or a_b_c, see [the API](https://docs.example.com/api#x).',
      '3. three\n4. four\n   - inner',
      '- ☑ done\n- ☐ open',
      '```ts\nconst a: number = 1;\n\nif (a < 2) {}\n```',
      '| Name | Size |\n| --- | --- |\n| `a\\|b` | 1<br>• x<br>• y |',
    ].join('\n\n'),
  );
});

test('O20: the language of code is found as the usual generators write it', async () => {
  const blocks: Readonly<Record<string, string>> = {
    '<pre class="language-js"><code>X</code></pre>': 'js',
    '<pre><code class="hljs language-yaml">X</code></pre>': 'yaml',
    '<div class="highlight-python notranslate"><div class="highlight"><pre><span></span><span class="k">X</span></pre></div></div>':
      'python',
    '<div class="highlight highlight-source-shell"><pre>X</pre></div>': 'shell',
    '<pre class="rust rust-example-rendered"><code>X</code></pre>': 'rust',
    '<pre data-lang="Go"><code>X</code></pre>': 'go',
    '<pre class="prettyprint lang-c++">X</pre>': 'c++',
    '<pre class="brush: sql">X</pre>': 'sql',
    '<pre class="src src-sh">X</pre>': '',
    '<pre>X</pre>': '',
    '<pre class="screen">X</pre>': '',
    '<div class="highlight-default notranslate"><pre>X</pre></div>': '',
  };
  for (const [block, language] of Object.entries(blocks)) {
    expect({ block, text: await markdown(`<p>See</p>${block}`) }).toEqual({
      block,
      text: `# T\n\nSee\n\n\`\`\`${language}\nX\n\`\`\``,
    });
  }
});

test('O20: line numbers, copy buttons and marks of headings are not taken for text', async () => {
  const table =
    '<table class="highlighttable"><tr><td class="linenos"><pre>1\n2</pre></td><td class="code"><pre><span class="k">a</span>\nb</pre></td></tr></table>';
  expect(await markdown(`<h2>One<a href="#one">#</a></h2><div class="highlight-js">${table}</div>`)).toContain(
    'a\nb\n```',
  );
  expect(await markdown('<pre><button>Copy</button><code>a<br>b</code></pre>')).toContain('```\na\nb\n```');
  expect(await markdown('<pre><code class="mjs">import x</code><code class="cjs">require(x)</code></pre>')).toContain(
    'import x\n\nrequire(x)',
  );
  expect(await markdown('<h2>One<a href="#one">#</a></h2>x')).toContain('## One\n');
});

test('O20: what loads, runs or is hidden leaves no trace, and links lead to the web alone', async () => {
  const text = await markdown(`
    <p>Start</p><img src="https://evil.example/pixel.png?d=1" alt="pixel"><script>alert(1)</script><style>p{}</style>
    <p style="display:none">hidden one</p><p hidden>hidden two</p><p aria-hidden="true">hidden three</p><span style="color:red; VISIBILITY: hidden">hidden four</span>
    <svg><text>drawn</text></svg><iframe src="https://evil.example/"></iframe><video src="v"></video><noscript>no script</noscript><template>templ</template>
    <p><a href="javascript:alert(1)">run</a> <a href="data:text/html,x">data</a> <a href="file:///etc/passwd">file</a> <a href="mailto:a@b.c">mail</a>
    <a href="https://u:p@example.com/">login</a> <a href="https://ok.example/x">ok</a> <a href="https://ok.example/img"><img src="x.png"></a></p>
    <table><tr><td><img src="https://evil.example/t.png"><ul><li>a</li></ul></td><td><a href="javascript:1">b</a></td></tr></table>`);
  for (const gone of [
    'evil.example',
    'hidden',
    'alert',
    'javascript',
    'data:',
    'file:',
    'mailto',
    'u:p',
    '![',
    'drawn',
    'no script',
    'templ',
    'ok.example/img',
  ]) {
    expect({ gone, stays: text.includes(gone) }).toEqual({ gone, stays: false });
  }
  expect(text).toContain('run data file mail login [ok](https://ok.example/x)');
});

test('O20: a page without a marked main part keeps its article and loses what leads around the site', async () => {
  const words =
    'This sentence is about the matter itself, and there are enough of them, so that it is taken for an article. '.repeat(
      8,
    );
  const menu = Array.from({ length: 30 }, (_, n) => `<li><a href="/m${n}">Menu ${n}</a></li>`).join('');
  const { text, title } = await read(
    `<html><head><title>The matter</title></head><body><div class="menu"><ul>${menu}</ul></div><div class="post"><h2>Part</h2><p>${words}</p><p>${words}</p><pre>code here</pre></div><div class="footer">legal</div></body></html>`,
    'text/html',
  );
  expect(title).toBe('The matter');
  expect(text).toContain('# The matter');
  expect(text).toContain('## Part');
  expect(text).toContain('```\ncode here\n```');
  expect(text).not.toContain('Menu 7');
});

test('O20: a repository on GitHub is its README', async () => {
  const { text } = await read(
    '<html><body><main><div class="files"><a href="/o/r/blob/main/x.ts">x.ts</a></div><article class="markdown-body entry-content"><h1>Project</h1><p>About it.</p><div class="highlight highlight-source-ts"><pre>let a;</pre></div></article></main></body></html>',
    'text/html',
    { url: 'https://github.com/o/r' },
  );
  expect(text).toBe('# Project\n\nAbout it.\n\n```ts\nlet a;\n```');
});

test('O20: JSON is indented, and what is only called JSON is its text', async () => {
  expect(await read('{"a":[1,{"b":"https://x.example"}]}', 'application/json')).toMatchObject({
    format: 'json',
    text: '{\n  "a": [\n    1,\n    {\n      "b": "https://x.example"\n    }\n  ]\n}',
  });
  expect(await read('{"a":', 'application/json')).toMatchObject({
    format: 'text',
    text: '{"a":',
    notes: [expect.stringContaining('not valid JSON')],
  });
  expect(await read('[1]', 'text/plain', { url: 'https://raw.example/x/package.json' })).toMatchObject({
    format: 'json',
  });
});

test('O20: text and Markdown stay as they are, with their links told', async () => {
  const source = '# Title\n\nSee <https://a.example/x>, (https://b.example/y).\n\n```js\n1 < 2\n```\n';
  expect(await read(source, 'text/plain', { url: 'https://raw.example/README.md' })).toEqual({
    format: 'markdown',
    title: 'Title',
    text: source,
    links: ['https://a.example/x', 'https://b.example/y'],
    notes: [],
  });
  expect(await read('<p>not html</p>', 'text/plain')).toMatchObject({ format: 'text', text: '<p>not html</p>' });
  expect(await read('<!doctype html><title>X</title><main><p>hello</p></main>', '')).toMatchObject({
    format: 'markdown',
    text: '# X\n\nhello',
  });
  const long = await read('x'.repeat(1_200_000), 'text/plain');
  expect(long.text.length).toBe(1_000_000);
  expect(long.notes).toEqual([expect.stringContaining('of 1200000 characters')]);
});

test('O20: the encoding is what the bytes, the server or the page say', async () => {
  const latin = Buffer.from('caf\u00e9', 'latin1');
  expect((await read(latin, 'text/plain', { charset: 'iso-8859-1' })).text).toBe('café');
  expect(
    (await read(Buffer.concat([Buffer.from('<meta charset="windows-1252"><main>'), latin]), 'text/html')).text,
  ).toBe('café');
  expect((await read(Buffer.from('\ufeffcafé', 'utf16le'), 'text/plain', { charset: 'utf-8' })).text).toBe('café');
  expect((await read('café', 'text/plain', { charset: 'no-such-charset' })).text).toBe('café');
});

test('O20: bytes that are no text are refused, and a page without text says so', async () => {
  expect(await readPage(input(new Uint8Array([1, 0, 2]), ''), () => {})).toMatchObject({
    ok: false,
    failure: { code: 'not_text' },
  });
  expect((await read('<body><div id="app"></div><script src="x.js"></script></body>', 'text/html')).notes).toEqual([
    expect.stringContaining('made by a script'),
  ]);
});

const tooHeavy = (html: string): string | null => {
  const weighed = weighHtml(html);
  return 'tooMuch' in weighed ? weighed.tooMuch : null;
};

test('O20: what no page of a person has is refused before it is parsed; sloppy pages are not', () => {
  const nested = (count: number, tag = 'div') => `${`<${tag}>`.repeat(count)}x${`</${tag}>`.repeat(count)}`;
  for (const count of [500, 1_000, 2_000, 3_000]) expect(tooHeavy(nested(count))).toContain('nested');
  expect(tooHeavy('<table><tr><td>'.repeat(3_000))).toContain('nested');
  expect(tooHeavy(`<div ${Array.from({ length: 100_000 }, (_, n) => `a${n}=1`).join(' ')}>`)).toContain('attributes');
  expect(tooHeavy('<i></i>'.repeat(600_000))).toContain('elements');
  expect(tooHeavy(`<a ${'x="<div>" '.repeat(150)}>`.repeat(2_100))).toContain('attributes');
  for (const fine of [
    nested(150),
    '<p>one'.repeat(5_000),
    `<ul>${'<li>one'.repeat(5_000)}</ul>`,
    '<a name=x>'.repeat(500),
    '<br>'.repeat(5_000),
    `<script>${'"<div>"'.repeat(500)}</script>`,
    `<!-- ${'<div>'.repeat(500)} -->`,
    `<svg>${'<path d="M0"/>'.repeat(500)}</svg>`,
    '<div title="a > b <div>">x</div>'.repeat(500),
    '<div/>x</div>'.repeat(150),
    '< < <3 a<b',
    '<',
    '',
  ]) {
    expect({ fine: fine.slice(0, 40), why: tooHeavy(fine) }).toEqual({ fine: fine.slice(0, 40), why: null });
  }
});

test('O20: scripts and style sheets are taken out before parsing, and nothing else', () => {
  const html =
    '<style a="</style>">p{}</style><p title="<style>">a</p><!-- <style> --><script>"</p>"</script><textarea><style></textarea><style>never closed';
  expect(weighHtml(html)).toEqual({
    html: '<style a="</style>"></style><p title="<style>">a</p><!-- <style> --><script></script><textarea><style></textarea><style>',
  });
});
