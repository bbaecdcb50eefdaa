// Gemfile, composer.json, mix.exs, pubspec.yaml: what is run by an interpreter and has a package manager of its own.

import { purposeOf } from './command-purpose.ts';
import type { Command, Manifest } from './facts.ts';
import { commandsIn, existing, type Folder, matching, usesOf } from './folder.ts';
import { objectOf, record, string } from './manifest-node.ts';

const RUBY_USES = {
  rails: 'Rails',
  sinatra: 'Sinatra',
  rspec: 'RSpec',
  'rspec-rails': 'RSpec',
  sidekiq: 'Sidekiq',
  rubocop: 'RuboCop',
  jekyll: 'Jekyll',
} as const;

export function readGemfile(folder: Folder): Manifest | null {
  const text = folder.text('Gemfile');
  if (text === undefined) return null;
  const to = commandsIn(folder);
  const uses = usesOf(
    [...text.matchAll(/^[ \t]*gem[ \t]+["']([\w-]+)["']/gm)].map(([, name = '']) => name),
    RUBY_USES,
  );
  const isRails = folder.below.has('bin/rails');
  const [spec] = matching(folder, /^[^/]+\.gemspec$/);
  const commands: Command[] = [
    to('install', 'bundle install'),
    ...(isRails ? [to('run', 'bin/rails server')] : []),
    ...(uses.includes('RSpec') || folder.below.has('.rspec')
      ? [to('test', 'bundle exec rspec')]
      : isRails
        ? [to('test', 'bin/rails test')]
        : []),
    ...(folder.below.has('Rakefile') ? [to('other', 'bundle exec rake -T', 'lists the tasks')] : []),
    ...(uses.includes('RuboCop') || folder.below.has('.rubocop.yml') ? [to('check', 'bundle exec rubocop')] : []),
  ];
  return {
    file: folder.at('Gemfile'),
    kind: 'Ruby (Bundler)',
    name: spec?.replace(/\.gemspec$/, '') ?? '',
    description: '',
    uses,
    entries: existing(folder, ['config.ru', 'config/application.rb', 'app.rb']),
    commands,
  };
}

const PHP_USES = {
  'laravel/framework': 'Laravel',
  'symfony/framework-bundle': 'Symfony',
  'phpunit/phpunit': 'PHPUnit',
  'phpstan/phpstan': 'PHPStan',
  'slim/slim': 'Slim',
} as const;
const COMPOSER_EVENTS = /^(?:pre|post)-/;

export function readComposer(folder: Folder): Manifest | null {
  const json = objectOf(folder.text('composer.json'));
  if (!json) return null;
  const to = commandsIn(folder);
  const uses = usesOf([...Object.keys(record(json['require'])), ...Object.keys(record(json['require-dev']))], PHP_USES);
  const scripts = Object.keys(record(json['scripts'])).filter((name) => !COMPOSER_EVENTS.test(name));
  const tests = scripts.some((name) => purposeOf(name) === 'test');
  return {
    file: folder.at('composer.json'),
    kind: 'PHP (Composer)',
    name: string(json['name']),
    description: string(json['description']),
    uses,
    entries: existing(folder, ['public/index.php', 'index.php', 'artisan', 'bin/console']),
    commands: [
      to('install', 'composer install'),
      ...scripts.map((name) => to(purposeOf(name), `composer run ${name}`)),
      ...(folder.below.has('artisan') ? [to('run', 'php artisan serve')] : []),
      ...(!tests && uses.includes('PHPUnit') ? [to('test', 'vendor/bin/phpunit')] : []),
    ],
  };
}

export function readMix(folder: Folder): Manifest | null {
  const text = folder.text('mix.exs');
  if (text === undefined) return null;
  const to = commandsIn(folder);
  const isPhoenix = /\{:phoenix,/.test(text);
  return {
    file: folder.at('mix.exs'),
    kind: 'Elixir (Mix)',
    name: /app:\s*:(\w+)/.exec(text)?.[1] ?? '',
    description: '',
    uses: isPhoenix ? ['Phoenix'] : [],
    entries: matching(folder, /^lib\/\w+\/application\.ex$/).map(folder.at),
    commands: [
      to('install', 'mix deps.get'),
      to('build', 'mix compile'),
      to('test', 'mix test'),
      ...(isPhoenix ? [to('run', 'mix phx.server')] : []),
    ],
  };
}

export function readPubspec(folder: Folder): Manifest | null {
  const text = folder.text('pubspec.yaml');
  if (text === undefined) return null;
  const to = commandsIn(folder);
  const isFlutter = /^[ \t]+sdk:[ \t]*flutter\b/m.test(text);
  const program = isFlutter ? 'flutter' : 'dart';
  return {
    file: folder.at('pubspec.yaml'),
    kind: isFlutter ? 'Dart (Flutter)' : 'Dart',
    name: /^name:\s*(\S+)/m.exec(text)?.[1] ?? '',
    description: /^description:\s*["']?([^\n"']+)/m.exec(text)?.[1] ?? '',
    uses: isFlutter ? ['Flutter'] : [],
    entries: existing(folder, ['lib/main.dart', 'bin/main.dart']),
    commands: [
      to('install', `${program} pub get`),
      to('test', `${program} test`),
      ...(isFlutter ? [to('run', 'flutter run')] : []),
      to('check', `${program} analyze`),
    ],
  };
}
