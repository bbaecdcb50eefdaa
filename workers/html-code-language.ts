// Which language a block of code is in, as the highlighters of documentation sites write it: in a class of the block, of what is in
// it, or of what is around it.

const WRITTEN = [
  /(?:^|\s)(?:language|lang|highlight-source|highlight-text|sourceCode|brush:|hljs language)[-:\s]+([\w+#.-]{1,30})/i,
  /(?:^|\s)highlight-([\w+#]{1,30})/,
];
/** Words next to which a bare class is the language: `prettyprint js`, `hljs python`, `src src-sh`, `rust rust-example-rendered`. */
const BARE = /(?:^|\s)(?:prettyprint|hljs|sourceCode|chroma|shiki|highlight)\s+([a-z][\w+#]{0,20})(?:\s|$)/i;
const KNOWN = new Set(
  (
    'asm bash c cmake cpp cs csharp css diff dockerfile go graphql haskell html http ini java javascript js json jsonc jsx kotlin ' +
    'lua makefile markdown md objc perl php powershell python py rb ruby rust rs scala scss sh shell sql swift toml ts tsx ' +
    'typescript xml yaml yml zig'
  ).split(' '),
);
const NO_LANGUAGE = new Set([
  'default',
  'none',
  'notranslate',
  'plain',
  'plaintext',
  'text',
  'txt',
  'nohighlight',
  'highlight',
]);

export function languageOf(pre: HtmlElement): string {
  const around = [pre, pre.querySelector('code'), pre.parentElement, pre.parentElement?.parentElement];
  for (const element of around) {
    if (!element) continue;
    const found = fromAttributes(element) ?? fromClass(element.className);
    if (found) return NO_LANGUAGE.has(found) ? '' : found;
  }
  return '';
}

function fromAttributes(element: HtmlElement): string | undefined {
  const said = element.getAttribute('data-lang') ?? element.getAttribute('data-language');
  return said !== null && /^[\w+#.-]{1,30}$/.test(said) ? said.toLowerCase() : undefined;
}

function fromClass(className: string): string | undefined {
  for (const pattern of WRITTEN) {
    const found = pattern.exec(className)?.[1]?.toLowerCase();
    if (found) return found;
  }
  const bare = BARE.exec(className)?.[1]?.toLowerCase();
  if (bare && KNOWN.has(bare)) return bare;
  return className
    .toLowerCase()
    .split(/\s+/)
    .find((name) => KNOWN.has(name));
}
