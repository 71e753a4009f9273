import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type FakeModel, startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { type RunningFamiliar, startFamiliar } from '../support/running-familiar.ts'

const minute = 60_000
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

let fake: FakeModel
let familiar: RunningFamiliar
let workspace: string

beforeEach(async () => {
  fake = await startFakeModel()
  fake.respondWith(({ lastUserText }) => ({ text: `Heard ${lastUserText.length} characters.` }))
  familiar = await start()
  workspace = familiar.daemon.paths.workspace
}, minute)
afterEach(async () => {
  await familiar.close()
  await fake.close()
})

function start(home?: string): Promise<RunningFamiliar> {
  const model = (name: string) => `[models.${name}]\nmodel = "${name}"\nsupports_vision = true\n`
  return startFamiliar({
    ...(home !== undefined && { home }),
    toml: '[routes]\nprimary = "fake/first"\n[memory]\nconversations = false\nextraction = false\n',
    providers: {
      fake: `type = "openai-compatible"\nbase_url = "${fake.url}/v1"\napi_key_env = "FAKE_KEY"\n${model('first')}${model('second')}`,
    },
  })
}

/** The request to the model for a message, as bytes. */
async function sentFor(message: string, session = 'main'): Promise<string> {
  await familiar.chat(message, { session })
  return fake.requests.at(-1)?.bytes ?? ''
}

async function command(line: string, session = 'main', confirm?: string) {
  const body = { line, session, ...(confirm !== undefined && { confirm }) }
  const response = await familiar.request('POST', '/api/v1/commands', body)
  return (await response.json()) as { ok: boolean; text: string; question?: { text: string; confirm: string } }
}

describe('names in a message', () => {
  it(
    'ASSET-6 files and blocks are in the model’s text, and not in the user’s message',
    async () => {
      mkdirSync(join(workspace, 'my notes'), { recursive: true })
      writeFileSync(join(workspace, 'plan.md'), 'Plant the quince on Tuesday. See @other.md\n')
      writeFileSync(join(workspace, 'other.md'), 'never read\n')
      writeFileSync(join(workspace, 'my notes', 'list.md'), 'Two medlars\n')
      writeFileSync(join(workspace, 'picture.png'), Buffer.from(pixel, 'base64'))
      writeFileSync(join(workspace, 'large.txt'), 'A line of a large file.\n'.repeat(2_200_000))
      symlinkSync('/etc/hostname', join(workspace, 'away.md'))
      const written = await familiar.request('PUT', '/api/v1/blocks/garden.md', { content: 'Mulch in spring.' })
      expect(written.ok).toBe(true)

      const sent = await sentFor('Look at @plan.md, then at @@garden and @"my notes/list.md".')
      expect(sent).toContain('Plant the quince on Tuesday')
      expect(sent).toContain('Mulch in spring.')
      expect(sent).toContain('Two medlars')
      expect(sent).not.toContain('never read')

      const literal = await sentFor(
        'Write to ann@example.com about `@plan.md` and https://example.com/@plan.md',
        'literal',
      )
      expect(literal).not.toContain('quince')

      const missing = await sentFor('See @nothing.md and @away.md and @../../key and @.', 'missing')
      expect(missing).toContain('@nothing.md was not replaced')
      expect(missing).toContain('@away.md was not replaced')
      const { reply, notices } = await familiar.chat('See @nothing.md, @max and @@blocks/garden', { session: 'told' })
      expect(notices).toEqual([expect.stringContaining('@nothing.md was not replaced')])
      expect(reply).toContain(`Note: ${notices[0]}`)
      expect(fake.requests.at(-1)?.bytes).toContain('Mulch in spring.')
      expect(await sentFor('See @@ikigai:///blocks/garden.md', 'ikigai')).toContain('Mulch in spring.')

      expect(await sentFor('Describe @picture.png', 'picture')).toContain('image_url')
      const large = await sentFor('Sum up @large.txt', 'large')
      expect(large.length).toBeLessThan(200_000)
      expect(large).toContain('is incomplete')

      const { database } = familiar.daemon
      const rows = await database.read
        .selectFrom('session_events')
        .select('data')
        .where('type', '=', 'message_received')
        .execute()
      const said = rows.map(({ data }) => (JSON.parse(data) as { text: string }).text)
      expect(said.join('\n')).not.toContain('quince')
    },
    2 * minute,
  )
})

describe('the prompt', () => {
  it(
    'ASSET-4 pins are there in their order, survive a restart and are inherited by a fork, which then has its own',
    async () => {
      for (const [name, content] of [
        ['first', 'The first block.'],
        ['second', 'The second block.'],
      ]) {
        await familiar.request('PUT', `/api/v1/blocks/${name}.md`, { content })
      }
      await familiar.chat('Hello')
      expect((await command('/pin second')).ok).toBe(true)
      expect((await command('/pin first')).ok).toBe(true)
      const sent = await sentFor('And now?')
      expect(sent.indexOf('The second block.')).toBeGreaterThan(0)
      expect(sent.indexOf('The first block.')).toBeGreaterThan(sent.indexOf('The second block.'))
      expect((await command('/fork branch')).ok).toBe(true)
      expect((await command('/unpin second', 'branch')).ok).toBe(true)
      expect(await sentFor('In the branch', 'branch')).not.toContain('The second block.')
      await familiar.close({ keep: true })
      familiar = await start(familiar.home)
      expect(await sentFor('After a restart')).toContain('The second block.')
      const branch = await sentFor('After a restart', 'branch')
      expect(branch).toContain('The first block.')
      expect(branch).not.toContain('The second block.')
    },
    2 * minute,
  )

  it(
    'CMD-1 another model answers in the session that asks for it, and in no other',
    async () => {
      await familiar.chat('Hello')
      expect((await command('/model fake/second')).text).toBe('This conversation now uses fake/second.')
      expect(await sentFor('Who answers?')).toContain('"model":"second"')
      expect(await sentFor('Who answers?', 'another')).toContain('"model":"first"')
      await command('/model default')
      expect(await sentFor('And now?')).toContain('"model":"first"')
    },
    2 * minute,
  )
})
