import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { RunningFamiliar } from '../../support/running-familiar.ts'
import { greeterFiles } from '../../support/served-capabilities.ts'

const examples = join(import.meta.dirname, '../../../examples/tools')

/** For the config of the samples: a server that is not approved yet. */
export const sampleToml = '[mcp.servers.calendar]\ncommand = "calendar-server"\n'

/** Files in folders of the home: a skill, a tool, a built tool; and messages that were sent or failed. */
export async function fillHome(familiar: RunningFamiliar): Promise<void> {
  const { home, daemon } = familiar
  write(join(home, 'workspace', 'skills', 'tea', 'SKILL.md'), skill)
  cpSync(join(examples, 'unit_converter'), join(home, 'tools', 'unit_converter'), { recursive: true })
  await familiar.request('POST', '/api/v1/tools/unit_converter/reload', {})
  const directory = join(home, 'greeter')
  for (const [path, text] of Object.entries(greeterFiles({ 'RUN.md': '# Greeter\n\nCall it with **a name**.' }))) {
    write(join(directory, path), text)
  }
  // Without a sandbox nothing is registered, and the list says so.
  await familiar.request('POST', '/api/v1/local/capabilities/register', { directory })
  await daemon.database.write(async (writer) => {
    const rows = [
      { state: 'sent', text: 'Good morning. The bins are due today.', error: null },
      { state: 'failed', text: 'The train is 12 minutes late.', error: 'Telegram: the chat was not found' },
    ] as const
    for (const [index, { state, text, error }] of rows.entries()) {
      const at = Date.now() - index * 60_000
      await writer
        .insertInto('outbox')
        .values({
          id: `sample-${state}`,
          user_id: daemon.ownerId,
          channel: 'telegram',
          address: '700100',
          key: `sample-${state}`,
          payload: JSON.stringify({ kind: 'text', text }),
          state,
          attempts: 1,
          next_at: null,
          error,
          external_id: null,
          session_id: null,
          repeats: null,
          created_at: at,
          updated_at: at,
        })
        .execute()
    }
  })
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFileSync(path, text)
}

const skill = `---
name: tea
description: How tea is made in this house.
---

# Tea

1. Warm the pot.
2. Four minutes for black, two for green.
`
