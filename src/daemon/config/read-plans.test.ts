import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { formatProblems } from './config.ts'
import { loadConfig } from './load-config.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'familiar-plans-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

function load(toml: string) {
  writeFileSync(join(home, 'familiar.toml'), toml, { mode: 0o600 })
  return loadConfig({ home, env: {} })
}

it('CLIENT-4 reads plans, each with exactly its settings', () => {
  const loaded = load(`
[plans.free]
max_sessions = 2
[plans.free.routes]
primary = "offline/offline"
[plans.free.budget]
per_day_usd = 0.5
[plans.jigga.tools]
allow = ["*"]
deny = ["web_*"]
`)
  expect(loaded.ok && loaded.config.plans).toEqual({
    free: {
      name: 'free',
      tools: { allow: [], deny: [] },
      routes: { primary: ['offline/offline'] },
      budget: { perDayUsd: 0.5 },
      maxSessions: 2,
      mode: null,
    },
    jigga: {
      name: 'jigga',
      tools: { allow: ['*'], deny: ['web_*'] },
      routes: {},
      budget: {},
      maxSessions: null,
      mode: null,
    },
    guest: { name: 'guest', tools: { allow: [], deny: [] }, routes: {}, budget: {}, maxSessions: null, mode: null },
    owner: { name: 'owner', tools: { allow: ['*'], deny: [] }, routes: {}, budget: {}, maxSessions: null, mode: null },
  })
})

it('CONF-2 reports what is wrong with a plan, with its line', () => {
  const loaded = load(`
[plans.owner.tools]
allow = []
[plans.free]
max_sessions = 0
[plans.free.routes]
primary = "local/nowhere"
[plans.free.tools]
allowed = ["*"]
deny = ["a b"]
`)
  const problems = loaded.ok ? [] : formatProblems(loaded.problems, home)
  expect(problems).toMatchInlineSnapshot(`
    [
      "familiar.toml:2: plans.owner: is built in: the owner may use everything",
      "familiar.toml:5: plans.free.max_sessions: must be more than 0 (found 0)",
      "familiar.toml:7: plans.free.routes.primary: "local/nowhere" is not a configured model (known: offline/offline)",
      "familiar.toml:9: plans.free.tools.allowed: is not a known key; did you mean allow?",
      "familiar.toml:10: plans.free.tools.deny[0]: must be the name of a tool, with * as a wildcard (found "a b")",
    ]
  `)
})
