// What a script or target is for, by its name.

import type { Purpose } from './facts.ts';

const BY_NAME: readonly (readonly [Purpose, RegExp])[] = [
  ['test', /^(?:.*[:_-])?(?:tests?|spec|e2e|unit|integration|pytest|jest|vitest|coverage)(?:$|[:_-])/],
  [
    'check',
    /^(?:lint|check|format|fmt|type-?check|types|tsc|prettier|eslint|clippy|verify|validate|ci|style)(?:$|[:_-])/,
  ],
  ['install', /^(?:install|setup|bootstrap|deps|develop|init|prepare-env|sync)(?:$|[:_-])/],
  ['build', /^(?:build|compile|bundle|dist|package|all|assemble|image|docker-build)(?:$|[:_-])/],
  ['run', /^(?:start|dev|serve|run|watch|preview|server|up|develop|storybook)(?:$|[:_-])/],
];

export function purposeOf(name: string): Purpose {
  const folded = name.toLowerCase();
  return BY_NAME.find(([, pattern]) => pattern.test(folded))?.[0] ?? 'other';
}
