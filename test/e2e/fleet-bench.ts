import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DaemonRole } from '../../src/fleet/fleet.ts'
import type { Tool } from '../../src/tools/tool.ts'
import type { ModelRequest } from '../support/fake-model/recorded-request.ts'
import { type FakeModel, startFakeModel } from '../support/fake-model/start-fake-model.ts'
import type { Step } from '../support/fake-model/step.ts'
import { openTestPool } from '../support/postgres/open-test-pool.ts'
import { createPostgresDatabase } from '../support/postgres/postgres-database.ts'
import { type RunningFamiliar, startFamiliar } from '../support/running-familiar.ts'

const provider = (url: string) => `type = "openai-compatible"
base_url = "${url}/v1"
api_key_env = "FAKE_KEY"
[models.large]
model = "large-model"
[models.small]
model = "small-model"
`

export const fleetToml = (directory: string, turnsAtOnce = 8) => `[routes]
primary = "fake/large"
[memory]
conversations = false
extraction = false
[sessions]
debounce_ms = 0
max_concurrent_turns = ${turnsAtOnce}
[shared]
directory = "${directory}"
`

/** Daemons in homes of their own around one database, one shared directory and one model. */
export interface FleetBench {
  fake: FakeModel
  databaseUrl: string
  shared: string
  start(
    role: DaemonRole,
    more?: { tools?: readonly Tool[]; toml?: string; turnsAtOnce?: number },
  ): Promise<RunningFamiliar>
  query<Row>(text: string): Promise<Row[]>
  close(): Promise<void>
}

export async function openFleetBench(env: Record<string, string> = {}): Promise<FleetBench> {
  const database = await createPostgresDatabase({ migrated: true })
  const fake = await startFakeModel()
  const shared = mkdtempSync(join(tmpdir(), 'familiar-shared-'))
  const pool = openTestPool({ connectionString: database.url, max: 1 })
  const running: RunningFamiliar[] = []
  return {
    fake,
    databaseUrl: database.url,
    shared,
    async start(role, { tools = [], toml = '', turnsAtOnce } = {}) {
      const familiar = await startFamiliar({
        role,
        toml: fleetToml(shared, turnsAtOnce) + toml,
        providers: { fake: provider(fake.url) },
        extraTools: tools,
        env: { FAMILIAR_DATABASE_URL: database.url, ...env },
      })
      running.push(familiar)
      return familiar
    },
    query: async (text) => (await pool.query(text)).rows,
    async close() {
      await Promise.all(running.map((familiar) => familiar.close()))
      await pool.end()
      await fake.close()
      await database.drop()
      rmSync(shared, { recursive: true, force: true })
    },
  }
}

/** A model that answers a message only when it is let, and says at once that it was asked. */
export function createGate(fake: FakeModel, answer: (request: ModelRequest) => Step = () => ({ text: 'Done.' })) {
  const open = Promise.withResolvers<void>()
  fake.respondWith(async (request) => {
    await open.promise
    return answer(request)
  })
  return open.resolve
}
