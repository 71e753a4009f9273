import { defineConfig } from 'vitest/config'
import { whyNoPostgres } from './test/support/postgres/start-postgres.ts'
import { allSuites, usualSuites } from './test/support/postgres/suites-on-postgres.ts'

// With an older Node some tests pass and others fail for reasons that say nothing about them.
const [major = 0] = process.versions.node.split('.').map(Number)
if (major < 24) {
  throw new Error(`The tests need Node 24, and this is ${process.versions.node}. Run them with: npm test -- PATH`)
}

const everything = ['src/**/*.test.ts', 'scripts/**/*.test.ts', 'test/**/*.test.ts', 'web/src/**/*.test.ts']
// Set by `npm test`. A run of named tests uses one engine.
const isOnBoth = process.env.FAMILIAR_TEST_ENGINE === 'both'

const common = {
  pool: 'forks',
  // Modules have no state, so test files share a worker, which saves half a second per file.
  isolate: false,
  testTimeout: 30_000,
  hookTimeout: 30_000,
  setupFiles: ['./test/support/property-seed.ts', './test/support/english-page.ts'],
  // The default of one second is too short on a busy machine.
  expect: { poll: { timeout: 20_000 } },
} as const

export default defineConfig({
  test: { ...common, maxWorkers: 2, ...(isOnBoth ? { projects: projects() } : { include: everything }) },
})

function projects() {
  const on = (name: 'sqlite' | 'postgres', include: string[]) => {
    return { test: { ...common, name, include, env: { FAMILIAR_TEST_ENGINE: name } } }
  }
  const noPostgres = whyNoPostgres()
  if (noPostgres) console.warn(`No suite runs on PostgreSQL: ${noPostgres}`)
  const suites = process.env.FAMILIAR_TEST_ALL ? allSuites : usualSuites
  return [on('sqlite', everything), ...(noPostgres ? [] : [on('postgres', suites)])]
}
