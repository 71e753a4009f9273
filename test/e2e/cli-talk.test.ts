import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { type FakeModel, type Script, startFakeModel } from '../support/fake-model/start-fake-model.ts'
import {
  cleanUp,
  familiar,
  familiarJson,
  homeWithModel,
  newHome,
  serveFamiliar,
  startFamiliar,
  temporaryDirectory,
} from './cli-process.ts'

let model: FakeModel | undefined
async function startModel(script: Script) {
  model = await startFakeModel({ script })
  return { model, ...homeWithModel(model.url) }
}

afterEach(async () => {
  await cleanUp()
  await model?.close()
  model = undefined
})

it('CLI-1 takes attachments, and says what is wrong with one before anything is sent', async () => {
  const home = newHome()
  await serveFamiliar({ home })
  const directory = temporaryDirectory()
  const file = join(directory, 'notes.txt')
  writeFileSync(file, 'buy bread')
  expect(await familiar(['send', '-m', 'Look at this', '-a', file], { home })).toMatchObject({ code: 0 })
  const { stdout } = await familiar(['log', '--json'], { home })
  const media = [{ name: 'notes.txt', mediaType: 'text/plain', bytes: 9 }]
  expect(JSON.parse(stdout.split('\n')[0] ?? '')).toMatchObject({ data: { media } })
  const missing = await familiar(['send', '-m', 'x', '-a', join(directory, 'nope')], { home })
  expect(missing).toMatchObject({ code: 1, stderr: expect.stringMatching(/Cannot attach .*nope: there is no such/) })
  writeFileSync(file, Buffer.alloc(21_000_000))
  const large = await familiar(['send', '-m', 'x', '-a', file], { home })
  expect(large).toMatchObject({ code: 1, stderr: expect.stringMatching(/21\.0 MB is too large.\n.*20\.0 MB/) })
  expect(await familiarJson(['history'], { home })).toMatchObject({ events: [{ role: 'user' }, { role: 'assistant' }] })
})

it('CLI-1 refuses a megabyte of text in words', async () => {
  const { code, stderr } = await familiar(['send', '-m', '-'], { home: newHome(), input: 'a'.repeat(1_000_000) })
  expect(code).toBeGreaterThan(0)
  expect(stderr).toMatch(/1,000,000 characters/)
})

it('SESS-3 makes one turn of two messages with the same key', async () => {
  const home = newHome()
  const send = ['send', '-m', 'Remember that the bin goes out on Monday', '--key', 'bin']
  const first = await familiarJson(send, { home })
  expect(await familiarJson(send, { home })).toEqual(first)
  const other = await familiar(['send', '-m', 'Something else', '--key', 'bin'], { home })
  expect(other).toMatchObject({ code: 1, stdout: '' })
})

it('CLI-1 leaves a message without waiting; the next process answers it', async () => {
  const home = newHome()
  const left = await familiar(['send', '-m', 'Remember that tea is in the tin', '--no-wait', '--json'], { home })
  expect(JSON.parse(left.stdout)).toMatchObject({ duplicate: false })
  expect(left.stderr).toContain('Familiar is not running')
  expect((await familiar(['send', '-m', 'Where is the tea?'], { home })).stdout).toMatch(/tin/)
})

it('CLI-1 chats through a pipe: a line a message, all as one, or as events', async () => {
  const home = newHome()
  const input = 'Remember that my cat is called Lola\n\nWhat is my cat called?\n'
  const lines = await familiar(['chat'], { home, input })
  expect(lines).toMatchObject({ code: 0, stderr: '' })
  const replies = lines.stdout.trim().split('\n')
  expect(replies).toHaveLength(2)
  expect(replies[1]).toMatch(/Lola.*\[memory:/)
  const { stdout } = await familiar(['chat', '--once', '--json', '--session', 'other'], { home, input: 'one\ntwo' })
  const events = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(events[0]).toMatchObject({ event: { type: 'message', text: 'one\ntwo' } })
  expect(events.at(-1)).toMatchObject({ event: { type: 'turn_end', outcome: 'completed' } })
})

it('LOOP-8 stops a turn from another client', async () => {
  const { model, home, env } = await startModel([{ hang: true }])
  const sending = startFamiliar(['send', '-m', 'Think for ever', '--json'], { home, env })
  await model.until(() => model.stats().requests === 1)
  const turns = [{ contact: 'main', model: 'fake/main' }]
  expect(await familiarJson(['monitor'], { home, env })).toMatchObject({ state: 'thinking', turns })
  expect(await familiarJson(['cancel', 'main'], { home, env })).toEqual({ stopped: true })
  const { code, stdout } = await sending.ended
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject({ outcome: 'stopped' })
  expect(await familiar(['cancel'], { home, env })).toMatchObject({ code: 0, stdout: 'No reply was in progress.\n' })
})

it('LOOP-8 stops its own turn on Ctrl-C and leaves with 130', async () => {
  const { model, home, env } = await startModel([{ hang: true }])
  const sending = startFamiliar(['send', '-m', 'Think for ever'], { home, env })
  await model.until(() => model.stats().requests === 1)
  sending.child.kill('SIGINT')
  expect(await sending.ended).toMatchObject({ code: 130 })
  expect((await familiar(['log'], { home, env })).stdout).toMatch(/turn_ended +stopped/)
})

it('CLI-1 leaves with 130 on Ctrl-C while it reads, or chats through a pipe', async () => {
  const { model, home, env } = await startModel([{ hang: true }])
  const reading = startFamiliar(['send', '-m', '-'], { home, env })
  const chatting = startFamiliar(['chat'], { home, env })
  chatting.child.stdin.write('Think for ever\n')
  await model.until(() => model.stats().requests === 1)
  reading.child.kill('SIGINT')
  chatting.child.kill('SIGINT')
  expect(await reading.ended).toMatchObject({ code: 130, stdout: '', stderr: '' })
  expect(await chatting.ended).toMatchObject({ code: 130, stderr: '' })
  expect((await familiar(['log'], { home, env })).stdout).toMatch(/turn_ended +stopped/)
})

it('SESS-5 keeps a message whose daemon is killed in the middle, and its sender still gets the reply', async () => {
  const { model, home, env } = await startModel([{ hang: true }, { text: 'Here I am again.' }])
  const daemon = await serveFamiliar({ home, env })
  const sending = startFamiliar(['send', '-m', 'Are you there?'], { home, env })
  await model.until(() => model.stats().requests === 1)
  daemon.child.kill('SIGKILL')
  expect(await sending.ended).toMatchObject({ code: 0, stdout: 'Here I am again.\n' })
  const again = await serveFamiliar({ home, env })
  expect(again.stdout()).not.toContain('interrupted')
  const events = [{ text: 'Are you there?' }, { text: 'Here I am again.' }]
  expect(await familiarJson(['history'], { home, env })).toMatchObject({ events })
  expect(model.stats()).toMatchObject({ requests: 2, rejected: 0 })
})

it('SESS-5 continues the interrupted turn after kill -9', async () => {
  const { model, home, env } = await startModel([{ hang: true }, { text: 'It is done.' }])
  const daemon = await serveFamiliar({ home, env })
  await familiar(['send', '-m', 'Do it', '--no-wait'], { home, env })
  await model.until(() => model.stats().requests === 1)
  daemon.child.kill('SIGKILL')
  await daemon.ended
  const again = await serveFamiliar({ home, env })
  expect(again.stdout()).toMatch(/The last stop was not clean[\s\S]*1 interrupted/)
  await model.until(() => model.stats().requests === 2)
  const following = startFamiliar(['log', '--follow'], { home, env })
  await following.untilShows(/turn_ended +completed: It is done\./)
})

it('SESS-5 continues elsewhere when the command that Familiar ran in has ended', async () => {
  const begun = Promise.withResolvers<void>()
  let calls = 0
  const { model, home, env } = await startModel(async ({ lastUserText }) => {
    if (lastUserText.includes('quick')) return begun.promise.then(() => ({ text: 'Done.' }))
    calls += 1
    return calls === 1 ? { hang: true } : { text: 'Late, but here.' }
  })
  const host = startFamiliar(['send', '-m', 'quick one', '--session', 'host'], { home, env })
  await model.until(() => model.stats().requests === 1)
  const guest = startFamiliar(['send', '-m', 'long one', '--session', 'guest'], { home, env })
  await model.until(() => model.stats().requests === 2)
  begun.resolve()
  expect(await host.ended).toMatchObject({ code: 0, stdout: 'Done.\n' })
  expect(await guest.ended).toMatchObject({ code: 0, stdout: 'Late, but here.\n', stderr: '' })
  expect(model.stats()).toMatchObject({ requests: 3, rejected: 0 })
})
