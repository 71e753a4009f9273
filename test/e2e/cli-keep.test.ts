import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { z } from 'zod'
import {
  cleanUp,
  familiar,
  familiarJson,
  newHome,
  serveFamiliar,
  startFamiliar,
  temporaryDirectory,
} from './cli-process.ts'

afterEach(cleanUp)

const exportSchema = z.object({ sessions: z.number(), events: z.number(), files: z.array(z.string()) })

it('SESS-6 exports sessions as JSON lines, a file for each day', async () => {
  const home = newHome()
  await serveFamiliar({ home })
  const out = join(temporaryDirectory(), 'export')
  await familiar(['send', 'Remember', 'that the piano is out of tune'], { home })
  await familiar(['send', '-m', 'Hello', '--session', 'other'], { home })
  await familiar(['reset', 'other', '--yes'], { home })
  const active = exportSchema.parse(await familiarJson(['export', '--out', out], { home }))
  expect(active).toMatchObject({ sessions: 1 })
  const all = exportSchema.parse(await familiarJson(['export', '--all', '--out', out], { home }))
  expect(all).toMatchObject({ sessions: 2 })
  expect(all.files).toHaveLength(2)
  for (const file of all.files) expect(file).toMatch(/\/[0-9a-f-]{36}\.\d{4}-\d\d-\d\d\.jsonl$/)
  const lines = readFileSync(active.files[0] ?? '', 'utf8')
    .trim()
    .split('\n')
  const events = lines.map((line) => JSON.parse(line))
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
  const data = { text: 'Remember that the piano is out of tune' }
  expect(events[0]).toMatchObject({ contact: 'main', type: 'message_received', data })
  expect(events.at(-1)).toMatchObject({ type: 'turn_ended' })
})

it('SESS-6 follows the log as it grows, and ends well with Ctrl-C', async () => {
  const home = newHome()
  await serveFamiliar({ home })
  await familiar(['send', '-m', 'Hello'], { home })
  const following = startFamiliar(['log', '--session', 'main', '--follow'], { home })
  await following.untilShows(/turn_ended/)
  await familiar(['send', '-m', 'Remember that the ladder is at the neighbours'], { home })
  await following.untilShows(/tool_finished +store_memory: ok(.*\n)+.*turn_ended/)
  expect(following.stdout()).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +1 +message_received +you \(cli\): Hello$/m)
  following.child.kill('SIGINT')
  expect(await following.ended).toMatchObject({ code: 0 })
  const numbers = following
    .stdout()
    .trim()
    .split('\n')
    .map((line) => Number(line.slice(19, 27)))
  expect(numbers).toEqual(numbers.map((_, index) => index + 1))
})

it('SEC-20 backs up, and goes back to the backup', async () => {
  const home = newHome()
  const ask = async (question: string) => (await familiar(['send', '-m', question], { home })).stdout
  await ask('Remember that the wifi password is on the fridge')
  const backup = await familiar(['backup'], { home })
  expect(backup).toMatchObject({ code: 0, stdout: expect.stringMatching(/backups\/familiar-.*\.db\n$/) })
  const path = backup.stdout.trim()
  const twice = await familiar(['backup', path], { home })
  expect(twice).toMatchObject({ code: 1, stderr: expect.stringContaining('already exists') })
  await ask('Remember that the tent is in the attic')

  const unasked = await familiar(['restore', path], { home })
  expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
  const restored = z.object({ kept_aside: z.string() }).parse(await familiarJson(['restore', path, '--yes'], { home }))
  expect(restored.kept_aside).toMatch(/familiar\.db\.before-restore-/)
  expect(await ask('Where is the tent?')).not.toMatch(/attic/)
  expect(await ask('Where is the wifi password?')).toMatch(/fridge/)
  expect(await familiar(['restore', restored.kept_aside, '--yes'], { home })).toMatchObject({ code: 0 })
  expect(await ask('Where is the tent?')).toMatch(/attic/)
})

it('SEC-20 refuses to restore while Familiar runs, or from a file that is not a backup', async () => {
  const home = newHome()
  const daemon = await serveFamiliar({ home })
  const { stdout } = await familiar(['backup'], { home })
  const refused = await familiar(['restore', stdout.trim(), '--yes'], { home })
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(`process ${daemon.child.pid}`) })
  daemon.child.kill('SIGTERM')
  await daemon.ended
  const missing = await familiar(['restore', join(home, 'nope.db'), '--yes'], { home })
  expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no backup') })
  const foreign = await familiar(['restore', join(home, 'workspace', 'SOUL.md'), '--yes'], { home })
  expect(foreign).toMatchObject({ code: 1, stderr: expect.stringContaining('Nothing was changed') })
})

it('SESS-8 resets after a question, keeps the old messages and starts a new session', async () => {
  const home = newHome()
  await serveFamiliar({ home })
  await familiar(['send', '-m', 'Hello'], { home })
  expect(await familiar(['reset', 'main'], { home })).toMatchObject({ code: 2 })
  const schema = z.object({ archived: z.tuple([z.object({ id: z.string() })]) })
  const { archived } = schema.parse(await familiarJson(['reset', 'main', '--yes'], { home }))
  expect(await familiar(['history', 'main'], { home })).toMatchObject({ code: 1 })
  expect((await familiar(['history', archived[0].id], { home })).stdout).toMatch(/Hello/)
  await familiar(['send', '-m', 'Hello again'], { home })
  expect((await familiar(['history', 'main'], { home })).stdout).not.toMatch(/Hello\n/)
})
