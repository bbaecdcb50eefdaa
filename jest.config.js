/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  transform: {},
  extensionsToTreatAsEsm: ['.ts'],
  injectGlobals: false,
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.odin/'],
  // Many tests wait for processes: more workers than cores.
  maxWorkers: 3,
  workerIdleMemoryLimit: '768MB',
  // For what hangs alone, and for every test: what a slow machine needs must not fail one.
  testTimeout: 600_000,
  testSequencer: '<rootDir>/test/support/sequencer.js',
};
