// pom.xml and Gradle: what is built for the JVM. A module is built from the root of its build.

import type { Manifest } from './facts.ts';
import { commandsIn, type Folder, matching } from './folder.ts';

export function readMaven(folder: Folder, ancestors: readonly Folder[]): Manifest | null {
  const text = folder.text('pom.xml');
  if (text === undefined) return null;
  // What stands in these is not about this module.
  const own = ['parent', 'dependencies', 'dependencyManagement', 'build', 'profiles'].reduce(withoutElement, text);
  const tag = (name: string): string => elementIn(own, name)?.text.trim() ?? '';
  const to = commandsIn(folder);
  const isModule = ancestors.some((one) => one.below.has('pom.xml'));
  const mvn = folder.below.has('mvnw') ? './mvnw' : 'mvn';
  const spring = text.includes('spring-boot-maven-plugin');
  return {
    file: folder.at('pom.xml'),
    kind: text.includes('<modules>') ? 'Java (Maven, several modules)' : 'Java (Maven)',
    name: tag('artifactId'),
    description: tag('description'),
    uses: [...(text.includes('spring-boot') ? ['Spring Boot'] : []), ...(text.includes('junit') ? ['JUnit'] : [])],
    entries: matching(folder, /^src\/main\/(?:java|kotlin)\/.*(?:Application|Main)\.(?:java|kt)$/).map(folder.at),
    commands: isModule
      ? []
      : [
          to('build', `${mvn} package`),
          to('test', `${mvn} test`),
          ...(spring ? [to('run', `${mvn} spring-boot:run`)] : []),
        ],
  };
}

interface Element {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** The first element of a name, by plain search: a pattern over a stranger's XML could take very long. */
function elementIn(xml: string, name: string): Element | undefined {
  const from = xml.indexOf(`<${name}>`);
  const end = from === -1 ? -1 : xml.indexOf(`</${name}>`, from);
  if (end === -1) return undefined;
  return { from, to: end + name.length + 3, text: xml.slice(from + name.length + 2, end) };
}

function withoutElement(xml: string, name: string): string {
  const parts: string[] = [];
  let rest = xml;
  for (let found = elementIn(rest, name); found; found = elementIn(rest, name)) {
    parts.push(rest.slice(0, found.from));
    rest = rest.slice(found.to);
  }
  return parts.join('') + rest;
}

export function readGradle(folder: Folder, ancestors: readonly Folder[]): Manifest | null {
  const files = ['build.gradle.kts', 'build.gradle', 'settings.gradle.kts', 'settings.gradle'];
  const file = files.find((name) => folder.below.has(name));
  if (file === undefined) return null;
  const text = files.map((name) => folder.text(name) ?? '').join('\n');
  const isModule = ancestors.some((one) => files.some((name) => one.below.has(name)));
  const to = commandsIn(folder);
  const gradle = folder.below.has('gradlew') ? './gradlew' : 'gradle';
  const uses = [
    ...(text.includes('org.springframework.boot') ? ['Spring Boot'] : []),
    ...(/com\.android\.(?:application|library)/.test(text) ? ['Android'] : []),
    ...(/kotlin\(|org\.jetbrains\.kotlin/.test(text) ? ['Kotlin'] : []),
    ...(/junit/i.test(text) ? ['JUnit'] : []),
  ];
  const runs = [
    ...(/\bid[ (]{0,4}["']application["']|^[ \t]*application[ \t]*$|plugin: ?["']application["']/m.test(text)
      ? [to('run', `${gradle} run`)]
      : []),
    ...(text.includes('org.springframework.boot') ? [to('run', `${gradle} bootRun`)] : []),
  ];
  return {
    file: folder.at(file),
    kind: 'JVM (Gradle)',
    name: /rootProject\.name\s*=\s*["']([^"']+)["']/.exec(text)?.[1] ?? '',
    description: /^description\s*=\s*["']([^"']+)["']/m.exec(text)?.[1] ?? '',
    uses,
    entries: matching(folder, /^src\/main\/(?:java|kotlin)\/.*(?:Application|Main)\.(?:java|kt)$/).map(folder.at),
    commands: isModule ? [] : [to('build', `${gradle} build`), to('test', `${gradle} test`), ...runs],
  };
}
