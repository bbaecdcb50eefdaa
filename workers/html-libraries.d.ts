// The little that html-markdown.ts uses of packages whose own types need those of a browser, or that have none. Elements are named by
// what is asked of them.

interface HtmlNode {
  readonly textContent: string;
  readonly parentNode: HtmlElement | null;
  readonly childNodes: Iterable<HtmlNode>;
  readonly nodeName: string;
  remove(): void;
}

interface HtmlElement extends HtmlNode {
  readonly tagName: string;
  readonly children: ArrayLike<HtmlElement> & Iterable<HtmlElement>;
  readonly firstElementChild: HtmlElement | null;
  readonly nextElementSibling: HtmlElement | null;
  readonly parentElement: HtmlElement | null;
  readonly ownerDocument: HtmlDocument;
  innerHTML: string;
  textContent: string;
  className: string;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  hasAttribute(name: string): boolean;
  matches(selector: string): boolean;
  closest(selector: string): HtmlElement | null;
  contains(other: HtmlElement): boolean;
  querySelector(selector: string): HtmlElement | null;
  querySelectorAll(selector: string): ArrayLike<HtmlElement> & Iterable<HtmlElement>;
  append(...nodes: readonly (HtmlNode | string)[]): void;
  prepend(...nodes: readonly (HtmlNode | string)[]): void;
  replaceWith(...nodes: readonly (HtmlNode | string)[]): void;
  replaceChildren(...nodes: readonly (HtmlNode | string)[]): void;
}

interface HtmlDocument {
  readonly body: HtmlElement;
  readonly title: string;
  readonly documentElement: HtmlElement;
  createElement(name: string): HtmlElement;
  querySelector(selector: string): HtmlElement | null;
  querySelectorAll(selector: string): ArrayLike<HtmlElement> & Iterable<HtmlElement>;
  cloneNode(deep: boolean): HtmlDocument;
}

declare module 'jsdom' {
  export class VirtualConsole {}
  export class JSDOM {
    constructor(html: string, options: { readonly url: string; readonly virtualConsole: VirtualConsole });
    readonly window: { readonly document: HtmlDocument; close(): void };
  }
}

declare module 'turndown' {
  interface Rule {
    readonly filter: string | readonly string[] | ((node: HtmlElement) => boolean);
    replacement(content: string, node: HtmlElement): string;
  }
  export default class TurndownService {
    constructor(options: Readonly<Record<string, string | boolean>>);
    use(plugin: (service: TurndownService) => void): this;
    addRule(name: string, rule: Rule): this;
    remove(filter: string | readonly string[]): this;
    escape(text: string): string;
    turndown(html: string): string;
  }
}

declare module '@joplin/turndown-plugin-gfm' {
  import type TurndownService from 'turndown';
  export function gfm(service: TurndownService): void;
}
