// What a file is written in, by its name. Data; languages of code only, and what a project is counted by.

const BY_EXTENSION: Readonly<Record<string, string>> = {
  ...languages('TypeScript', 'ts', 'tsx', 'mts', 'cts'),
  ...languages('JavaScript', 'js', 'jsx', 'mjs', 'cjs'),
  ...languages('Python', 'py', 'pyi'),
  ...languages('Rust', 'rs'),
  ...languages('Go', 'go'),
  ...languages('Java', 'java'),
  ...languages('Kotlin', 'kt', 'kts'),
  ...languages('Scala', 'scala'),
  ...languages('Groovy', 'groovy'),
  ...languages('C', 'c', 'h'),
  ...languages('C++', 'cc', 'cpp', 'cxx', 'hh', 'hpp', 'hxx'),
  ...languages('C#', 'cs'),
  ...languages('F#', 'fs'),
  ...languages('Swift', 'swift'),
  ...languages('Objective-C', 'm', 'mm'),
  ...languages('Ruby', 'rb', 'rake'),
  ...languages('PHP', 'php'),
  ...languages('Elixir', 'ex', 'exs'),
  ...languages('Erlang', 'erl', 'hrl'),
  ...languages('Haskell', 'hs'),
  ...languages('OCaml', 'ml', 'mli'),
  ...languages('Clojure', 'clj', 'cljs', 'cljc'),
  ...languages('Dart', 'dart'),
  ...languages('Lua', 'lua'),
  ...languages('Perl', 'pl', 'pm'),
  ...languages('R', 'r'),
  ...languages('Julia', 'jl'),
  ...languages('Zig', 'zig'),
  ...languages('Nim', 'nim'),
  ...languages('Shell', 'sh', 'bash', 'zsh'),
  ...languages('PowerShell', 'ps1'),
  ...languages('SQL', 'sql'),
  ...languages('Vue', 'vue'),
  ...languages('Svelte', 'svelte'),
  ...languages('HTML', 'html'),
  ...languages('CSS', 'css', 'scss', 'sass', 'less'),
  ...languages('Terraform', 'tf'),
  ...languages('Protocol Buffers', 'proto'),
  ...languages('Jupyter', 'ipynb'),
};

function languages(name: string, ...extensions: readonly string[]): Record<string, string> {
  return Object.fromEntries(extensions.map((extension) => [extension, name]));
}

/** The language of a path; undefined when it is no code. */
export const languageOf = (path: string): string | undefined => {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return BY_EXTENSION[name.slice(name.lastIndexOf('.') + 1).toLowerCase()];
};

export interface LanguageCount {
  readonly name: string;
  readonly files: number;
}

/** Most files first. */
export function countLanguages(paths: Iterable<string>): readonly LanguageCount[] {
  const counts = new Map<string, number>();
  for (const path of paths) {
    const name = languageOf(path);
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts]
    .map(([name, files]) => ({ name, files }))
    .toSorted((a, b) => b.files - a.files || (a.name < b.name ? -1 : 1));
}
