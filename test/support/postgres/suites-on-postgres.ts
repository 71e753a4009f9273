/**
 * The suites that `npm test` runs a second time, on PostgreSQL: of every kind of store the one that says most of it. They
 * open what `openTestDatabase` gives them. `npx vitest run PATH` runs on SQLite, with FAMILIAR_TEST_ENGINE=postgres on
 * PostgreSQL.
 */
export const usualSuites = [
  'src/agent/sessions/session-views.test.ts',
  'src/agent/sessions/sessions.test.ts',
  'src/agent/sessions/message-index.test.ts',
  'src/agent/sessions/overload.test.ts',
  'src/agent/conversations.test.ts',
  'src/memory/aliases.test.ts',
  'src/memory/commitments.test.ts',
  'src/memory/episodes.test.ts',
  'src/memory/facts.test.ts',
  'src/memory/graph.test.ts',
  'src/memory/memories.test.ts',
  'src/memory/forget-everything.test.ts',
  'src/memory/learning/consolidation.test.ts',
  'src/memory/recall/recall.test.ts',
  'src/memory/recall/recall-users.test.ts',
  'src/memory/transfer/import-memories.test.ts',
  'src/tools/files/create-assets.test.ts',
  'src/tools/files/{block-budget,pins}.test.ts',
  'src/agent/{costs,ledger}.test.ts',
  'src/security/{access-tokens,approvals,browsers,one-time-links}.test.ts',
  'src/security/users.test.ts',
  'src/daemon/scheduler/create-schedules.test.ts',
  'src/channels/create-deliveries.test.ts',
  'src/channels/create-outbox.test.ts',
  'test/security/{remove-user,other-users-routes}.test.ts',
]

/** With FAMILIAR_TEST_ALL: whatever opens a test database and is not about a file of SQLite's. */
export const allSuites = [
  'src/{agent,memory,security,tools,custom-tools,daemon/scheduler}/**/*.test.ts',
  'src/channels/create-{deliveries,outbox}.test.ts',
  'src/storage/watch-units.test.ts',
  'test/security/*.test.ts',
  'test/crash/{steps,random,schedules,subagents,client-tools,capability-builds,telegram}.test.ts',
]
