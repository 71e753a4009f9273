/**
 * The suites that `npm test` runs a second time, on PostgreSQL: of every kind of store the one that says most of it. They
 * open what `openTestDatabase` gives them. `npx vitest run PATH` runs on SQLite, with FAMILIAR_TEST_ENGINE=postgres on
 * PostgreSQL.
 */
export const usualSuites = [
  'src/sessions/session-views.test.ts',
  'src/sessions/sessions.test.ts',
  'src/sessions/overload.test.ts',
  'src/memory/aliases.test.ts',
  'src/memory/commitments.test.ts',
  'src/memory/episodes.test.ts',
  'src/memory/facts.test.ts',
  'src/memory/graph.test.ts',
  'src/memory/memories.test.ts',
  'src/memory/learning/consolidation.test.ts',
  'src/memory/transfer/import-memories.test.ts',
  'src/assets/blocks/*.test.ts',
  'src/policy/*.test.ts',
  'src/policy/users/users.test.ts',
  'src/scheduler/schedules/create-schedules.test.ts',
  'src/channels/outbox/create-outbox.test.ts',
]

/** With FAMILIAR_TEST_ALL: whatever opens a test database and is not about a file of SQLite's. */
export const allSuites = [
  'src/{agent,assets,cost,memory,policy,scheduler,sessions}/**/*.test.ts',
  'src/channels/{deliveries,outbox}/**/*.test.ts',
  'src/tools/{client-telemetry,tool-audit}.test.ts',
  'src/tools/capabilities/{builds,catalog}/**/*.test.ts',
]
