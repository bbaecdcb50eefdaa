// The four parts of ODIN.md (SPEC O22), whoever writes them.

export const TITLES = {
  what: 'What it is',
  architecture: 'Architecture',
  components: 'Components',
  commands: 'Commands',
} as const;

export type SectionName = keyof typeof TITLES;
/** Markdown without the heading. */
export type Sections = Readonly<Record<SectionName, string>>;

export const SECTION_NAMES = Object.keys(TITLES) as readonly SectionName[];

/** Odin's part of the file, without the marks around it. */
export const sectionsText = (sections: Sections): string =>
  SECTION_NAMES.map((name) => `## ${TITLES[name]}\n\n${sections[name].trim()}`).join('\n\n');
