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
  // Far above what any needs: a loaded machine must not fail a test.
  testTimeout: 60_000,
};
