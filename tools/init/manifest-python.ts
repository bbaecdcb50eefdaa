// pyproject.toml, setup.cfg, setup.py, requirements.txt and Pipfile as one manifest; what runs it (uv, Poetry, PDM, pip) by its lock file.

import { purposeOf } from './command-purpose.ts';
import type { Command, Manifest } from './facts.ts';
import { commandsIn, existing, type Folder, matching, usesOf } from './folder.ts';
import { readToml, type Toml, tomlList, tomlString } from './toml.ts';

const FILES = ['pyproject.toml', 'setup.cfg', 'setup.py', 'requirements.txt', 'Pipfile'] as const;

const KNOWN_USES = {
  django: 'Django',
  flask: 'Flask',
  fastapi: 'FastAPI',
  starlette: 'Starlette',
  aiohttp: 'aiohttp',
  celery: 'Celery',
  sqlalchemy: 'SQLAlchemy',
  pydantic: 'Pydantic',
  numpy: 'NumPy',
  pandas: 'pandas',
  torch: 'PyTorch',
  tensorflow: 'TensorFlow',
  'scikit-learn': 'scikit-learn',
  click: 'Click',
  typer: 'Typer',
  pytest: 'pytest',
  tox: 'tox',
  nox: 'nox',
  ruff: 'Ruff',
  black: 'Black',
  flake8: 'flake8',
  mypy: 'mypy',
  pyright: 'Pyright',
} as const;

export function readPython(folder: Folder): Manifest | null {
  const file = FILES.find((name) => folder.below.has(name));
  if (file === undefined) return null;
  const toml = readToml(folder.text('pyproject.toml') ?? '');
  const uses = usesOf(dependencyNames(folder, toml), KNOWN_USES);
  const tool = toolOf(folder, toml);
  return {
    file: folder.at(file),
    kind: `Python (${tool.name})`,
    name:
      tomlString(toml, 'project', 'name') ||
      tomlString(toml, 'tool.poetry', 'name') ||
      (/^name\s*=\s*(\S+)/m.exec(folder.text('setup.cfg') ?? '')?.[1] ?? ''),
    description: tomlString(toml, 'project', 'description') || tomlString(toml, 'tool.poetry', 'description'),
    uses,
    entries: [
      ...existing(folder, ['manage.py', 'main.py', 'app.py', '__main__.py']),
      ...matching(folder, /^(?:src\/)?[\w-]+\/__main__\.py$/).map(folder.at),
    ],
    commands: commandsOf(folder, toml, uses, tool),
  };
}

interface PythonTool {
  readonly name: string;
  readonly install: string;
  /** Stands before a command. */
  readonly run: string;
}

function toolOf(folder: Folder, toml: Toml): PythonTool {
  const { below } = folder;
  if (below.has('uv.lock')) return { name: 'uv', install: 'uv sync', run: 'uv run ' };
  if (below.has('poetry.lock') || toml.has('tool.poetry'))
    return { name: 'Poetry', install: 'poetry install', run: 'poetry run ' };
  if (below.has('pdm.lock')) return { name: 'PDM', install: 'pdm install', run: 'pdm run ' };
  if (below.has('Pipfile')) return { name: 'Pipenv', install: 'pipenv install --dev', run: 'pipenv run ' };
  const install = below.has('requirements.txt') ? 'pip install -r requirements.txt' : 'pip install -e .';
  return { name: 'pip', install, run: '' };
}

function commandsOf(folder: Folder, toml: Toml, uses: readonly string[], tool: PythonTool): readonly Command[] {
  const to = commandsIn(folder);
  const { below } = folder;
  const call = (program: string): string => (tool.run === '' ? `python -m ${program}` : `${tool.run}${program}`);
  const has = (use: string, ...sections: readonly string[]): boolean =>
    uses.includes(use) || sections.some((section) => toml.has(section));
  const commands = [to('install', tool.install)];
  for (const section of ['project.scripts', 'tool.poetry.scripts']) {
    for (const [name, target] of toml.get(section) ?? [])
      commands.push(to('run', `${tool.run}${name}`, typeof target === 'string' ? target : ''));
  }
  if (below.has('manage.py'))
    commands.push(to('run', 'python manage.py runserver'), to('test', 'python manage.py test'));
  if (has('pytest', 'tool.pytest.ini_options') || below.has('pytest.ini') || below.has('conftest.py'))
    commands.push(to('test', call('pytest')));
  else if (!below.has('manage.py') && matching(folder, /^tests?\/(?:.*\/)?test_\w+\.py$/).length > 0)
    commands.push(to('test', `${tool.run}python -m unittest discover`));
  if (below.has('tox.ini')) commands.push(to('test', `${tool.run}tox`));
  if (below.has('noxfile.py')) commands.push(to('test', `${tool.run}nox`));
  if (has('Ruff', 'tool.ruff') || below.has('ruff.toml')) commands.push(to('check', `${tool.run}ruff check .`));
  if (has('mypy', 'tool.mypy') || below.has('mypy.ini')) commands.push(to('check', `${tool.run}mypy .`));
  if (has('Black', 'tool.black')) commands.push(to('check', `${tool.run}black .`));
  if (toml.has('build-system') && tool.name !== 'pip') commands.push(to('build', buildCall(tool)));
  for (const name of (toml.get('tool.pdm.scripts') ?? new Map()).keys())
    commands.push(to(purposeOf(name), `pdm run ${name}`));
  for (const name of (toml.get('tool.poe.tasks') ?? new Map()).keys())
    commands.push(to(purposeOf(name), `${tool.run}poe ${name}`));
  return commands;
}

const buildCall = ({ name, run }: PythonTool): string =>
  name === 'Pipenv' ? `${run}python -m build` : `${name.toLowerCase()} build`;

function* dependencyNames(folder: Folder, toml: Toml): Generator<string> {
  const requirement = (line: string): string => /^\s*([\w.-]+)/.exec(line)?.[1] ?? '';
  for (const line of tomlList(toml, 'project', 'dependencies')) yield requirement(line);
  for (const [section, keys] of toml) {
    if (/^tool\.poetry(?:\.group\.[\w-]+)?\.(?:dev-)?dependencies$/.test(section)) yield* keys.keys();
    if (section === 'dependency-groups' || section === 'project.optional-dependencies')
      for (const key of keys.keys()) for (const line of tomlList(toml, section, key)) yield requirement(line);
  }
  for (const line of tomlList(toml, 'tool.uv', 'dev-dependencies')) yield requirement(line);
  for (const name of folder.below) {
    if (!/^(?:requirements[\w.-]*\.txt|requirements\/[\w.-]+\.txt|Pipfile)$/.test(name)) continue;
    for (const line of (folder.text(name) ?? '').split('\n')) yield requirement(line);
  }
  const setup = `${folder.text('setup.py') ?? ''}\n${folder.text('setup.cfg') ?? ''}`;
  for (const [, name = ''] of setup.matchAll(/^[ \t]*["']?([A-Za-z][\w.-]*)["']?[ \t]*(?:[<>=!~,\]]|$)/gm)) yield name;
}
