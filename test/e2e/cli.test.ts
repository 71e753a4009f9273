import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { chatReplySchema } from '../../src/protocol/api.ts'
import { startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { familiar, homeWithModel, newHome, startFamiliar, temporaryDirectory } from './cli-process.ts'

describe.concurrent('the command line, in processes of its own', () => {
  it('CLI-1 remembers, ends, and recalls in the next process with a citation', async () => {
    const home = newHome()
    const told = await familiar(['send', '-m', 'Remember that I am allergic to shellfish', '--json'], { home })
    expect(told).toMatchObject({ code: 0, stderr: '' })
    const asked = await familiar(['send', '-m', 'What am I allergic to?', '--json'], { home })
    const answer = chatReplySchema.parse(JSON.parse(asked.stdout))
    expect(answer.reply).toMatch(/shellfish/)
    expect(answer.reply).toMatch(/\[memory:\w+\]/)
    expect(answer).toMatchObject({
      outcome: 'completed',
      session_id: chatReplySchema.parse(JSON.parse(told.stdout)).session_id,
    })
    const plain = await familiar(['send', '-m', 'What am I allergic to?'], { home })
    expect(plain.stdout).toBe(`${answer.reply}\n`)
  })

  it.each([[[]], [['--help']], [['-h']], [['help']]])('CLI-1 helps with %j', async (args) => {
    const home = newHome()
    const { code, stdout, stderr } = await familiar(args, { home })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('familiar send -m "Remember that I am allergic to shellfish"')
    expect(stdout).toContain(`Home: ${home}`)
    expect(stdout).toContain('ANTHROPIC_API_KEY')
    expect(stdout).toContain('familiar setup')
  })

  it('CLI-1 helps with one command, as npm start -- --help does', async () => {
    const { code, stdout } = await familiar(['start', '--help'], { home: newHome() })
    expect(code).toBe(0)
    expect(stdout).toContain('Usage: familiar start [options]')
    expect(stdout).toContain('--port <port>')
    expect(await familiar(['--version'], { home: newHome() })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    })
  })

  it.each([
    [['sned', '-m', 'x'], /unknown command 'sned'[^]*Did you mean send\?/],
    [['send', '--mesage', 'x'], /unknown option '--mesage'[^]*Did you mean --message\?/],
    [['send', '-m', 'x', '--tier', 'ful'], /--tier[^]*full, operational/],
    [['cost', '--period', 'year'], /today, week, month, all/],
    [['serve', '--port', '70000'], /A port is a number from 0 to 65535/],
    [['reset'], /missing required argument 'target'/],
    [['status', 'now'], /too many arguments/],
    [['export', '--all', '--session', 'x'], /cannot be used with/],
    [['send'], /There is no message/],
    [['send', '-m', ''], /The message is empty/],
    [['send', '-m', ' \n\t'], /The message is empty/],
    [['send', '-m', '-'], /The message is empty/],
    [['send', '-m', 'x', '--source', 'Bad Source'], /source: /],
  ])('CLI-1 refuses %j with 2 and says why', async (args, reason) => {
    const { code, stdout, stderr } = await familiar(args, { home: newHome(), input: '' })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(reason)
  })

  it('CLI-1 prints an error as JSON too, where JSON was asked for', async () => {
    const { code, stdout } = await familiar(['history', 'nobody', '--json'], { home: newHome() })
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({ code: 'not_found', error: expect.stringContaining('"nobody"') })
  })

  it('CLI-1 prints JSON that parses, and no colours in a pipe, with every command that looks', async () => {
    const home = newHome()
    await familiar(['send', '-m', 'Remember that the spare key is under the pot'], { home })
    const looks = [
      ['status'],
      ['monitor'],
      ['cost', '--period', 'all'],
      ['sessions', '--all'],
      ['history', '--full'],
      ['context'],
      ['stop'],
      ['doctor'],
      ['log'],
    ]
    for (const look of looks) {
      const plain = await familiar(look, { home })
      expect(plain, look.join(' ')).toMatchObject({ code: 0, stderr: '' })
      expect(plain.stdout).not.toContain('\u001b')
      const json = await familiar([...look, '--json'], { home })
      for (const line of json.stdout.trim().split('\n')) expect(JSON.parse(line)).toBeTypeOf('object')
    }
  })

  it('SEC-10 lets no escape sequence through to whoever reads the history', async () => {
    const home = newHome()
    const nasty = 'Remember \u001b]0;owned\u0007that\u001b[2J \u202eevil\u009b31m things'
    await familiar(['send', '-m', nasty], { home })
    for (const look of [['history'], ['log'], ['history', '--full'], ['sessions']]) {
      const { stdout } = await familiar(look, { home, env: { FORCE_COLOR: '0' } })
      expect(stdout).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/)
    }
    const json = await familiar(['history', '--json'], { home })
    expect(JSON.parse(json.stdout).events[0].text).toContain('\u001b[2J')
    expect(json.stdout).not.toMatch(/[\u001b\u009b\u202e]/)
  })

  it('CLI-1 takes attachments, and says what is wrong with one before anything is sent', async () => {
    const home = newHome()
    const directory = temporaryDirectory()
    const file = join(directory, 'notes.txt')
    writeFileSync(file, 'buy bread')
    const sent = await familiar(['send', '-m', 'Look at this', '-a', file, '--json'], { home })
    expect(sent.code).toBe(0)
    const log = await familiar(['log', '--json'], { home })
    expect(JSON.parse(log.stdout.split('\n')[0] ?? '').data.media).toMatchObject([
      { name: 'notes.txt', mediaType: 'text/plain', bytes: 9 },
    ])
    const missing = await familiar(['send', '-m', 'x', '-a', join(directory, 'nope')], { home })
    expect(missing).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/Cannot attach .*nope: there is no such file/),
    })
    writeFileSync(file, Buffer.alloc(21_000_000))
    const large = await familiar(['send', '-m', 'x', '-a', file], { home })
    expect(large).toMatchObject({ code: 1, stderr: expect.stringMatching(/21\.0 MB is too much[^]*20\.0 MB/) })
    expect((await familiar(['history', '--json'], { home })).stdout.match(/"role":"user"/g)).toHaveLength(1)
  })

  it('CLI-1 refuses a megabyte of text in words', async () => {
    const { code, stderr } = await familiar(['send', '-m', '-'], { home: newHome(), input: 'a'.repeat(1_000_000) })
    expect(code).not.toBe(0)
    expect(stderr).toMatch(/1,000,000 characters/)
  })

  it('SESS-3 makes one turn of two messages with the same key', async () => {
    const home = newHome()
    const send = ['send', '-m', 'Remember that the bin goes out on Monday', '--key', 'bin', '--json']
    const [first, second] = [await familiar(send, { home }), await familiar(send, { home })]
    expect(JSON.parse(second.stdout)).toEqual(JSON.parse(first.stdout))
    const other = await familiar(['send', '-m', 'Something else', '--key', 'bin'], { home })
    expect(other).toMatchObject({ code: 1, stdout: '' })
  })

  it('CLI-1 leaves a message without waiting; the next process answers it', async () => {
    const home = newHome()
    const left = await familiar(['send', '-m', 'Remember that tea is in the tin', '--no-wait', '--json'], { home })
    expect(JSON.parse(left.stdout)).toMatchObject({ duplicate: false })
    expect(left.stderr).toContain('No daemon is running')
    const later = await familiar(['send', '-m', 'Where is the tea?'], { home })
    expect(later.stdout).toMatch(/tin/)
  })

  it('CLI-1 chats through a pipe: a line a message, all as one, or as events', async () => {
    const home = newHome()
    const input = 'Remember that my cat is called Lola\n\nWhat is my cat called?\n'
    const lines = await familiar(['chat'], { home, input })
    expect(lines).toMatchObject({ code: 0, stderr: '' })
    const replies = lines.stdout.trim().split('\n')
    expect(replies).toHaveLength(2)
    expect(replies[1]).toMatch(/Lola.*\[memory:/)
    const events = await familiar(['chat', '--once', '--json', '--session', 'other'], { home, input: 'one\ntwo' })
    const types = events.stdout
      .trim()
      .split('\n')
      .map((line) => z.object({ event: z.looseObject({ type: z.string() }) }).parse(JSON.parse(line)).event)
    expect(types[0]).toMatchObject({ type: 'message', text: 'one\ntwo' })
    expect(types.at(-1)).toMatchObject({ type: 'turn_end', outcome: 'completed' })
  })

  it('LOOP-8 stops a turn from another client', async () => {
    const model = await startFakeModel({ script: [{ hang: true }] })
    try {
      const { home, env } = homeWithModel(model.url)
      const sending = startFamiliar(['send', '-m', 'Think for ever', '--json'], { home, env })
      await model.until(() => model.stats().requests === 1)
      const monitor = await familiar(['monitor', '--json'], { home, env })
      expect(JSON.parse(monitor.stdout)).toMatchObject({
        state: 'thinking',
        turns: [{ contact: 'main', model: 'fake/main' }],
      })
      const stop = await familiar(['stop', 'main', '--json'], { home, env })
      expect(JSON.parse(stop.stdout)).toEqual({ stopped: true })
      const { code, stdout } = await sending.ended
      expect(code).toBe(1)
      expect(JSON.parse(stdout)).toMatchObject({ outcome: 'stopped' })
      expect(await familiar(['stop'], { home, env })).toMatchObject({ code: 0, stdout: 'Nothing was running.\n' })
    } finally {
      await model.close()
    }
  })

  it('LOOP-8 stops its own turn on Ctrl-C and leaves with 130', async () => {
    const model = await startFakeModel({ script: [{ hang: true }] })
    try {
      const { home, env } = homeWithModel(model.url)
      const sending = startFamiliar(['send', '-m', 'Think for ever'], { home, env })
      await model.until(() => model.stats().requests === 1)
      sending.child.kill('SIGINT')
      expect(await sending.ended).toMatchObject({ code: 130 })
      const log = await familiar(['log'], { home, env })
      expect(log.stdout).toMatch(/turn_ended +stopped/)
    } finally {
      await model.close()
    }
  })

  it('SESS-6 exports every session as JSON lines, a file for each day', async () => {
    const home = newHome()
    const out = join(temporaryDirectory(), 'export')
    await familiar(['send', '-m', 'Remember that the piano is out of tune'], { home })
    await familiar(['send', '-m', 'Hello', '--session', 'other'], { home })
    await familiar(['reset', 'other', '--yes'], { home })
    const active = JSON.parse((await familiar(['export', '--out', out, '--json'], { home })).stdout)
    expect(active).toMatchObject({ sessions: 1, directory: out })
    const all = JSON.parse((await familiar(['export', '--all', '--out', out, '--json'], { home })).stdout)
    expect(all).toMatchObject({ sessions: 2 })
    expect(all.files).toHaveLength(2)
    for (const file of all.files) expect(file).toMatch(/\/[0-9a-f-]{36}\.\d{4}-\d\d-\d\d\.jsonl$/)
    const events = readFileSync(active.files[0], 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
    expect(events[0]).toMatchObject({
      contact: 'main',
      type: 'message_received',
      data: { text: 'Remember that the piano is out of tune' },
    })
    expect(events.at(-1)).toMatchObject({ type: 'turn_ended' })
  })

  it('SESS-6 follows the log as it grows', async () => {
    const home = newHome()
    await familiar(['send', '-m', 'Hello'], { home })
    const following = startFamiliar(['log', '--session', 'main', '--follow'], { home })
    await following.untilShows(/turn_ended/)
    await familiar(['send', '-m', 'Remember that the ladder is at the neighbours'], { home })
    await following.untilShows(/tool_finished +store_memory: ok[^]*turn_ended[^]*turn_ended/)
    expect(following.stdout()).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +1 +message_received +you \(cli\): Hello$/m)
    following.child.kill('SIGINT')
    expect(await following.ended).toMatchObject({ code: 0 })
    const lines = following
      .stdout()
      .trim()
      .split('\n')
      .map((line) => Number(line.slice(19, 27)))
    expect(lines).toEqual(lines.map((_, index) => index + 1))
  })

  it('SEC-20 backs up, and goes back to the backup', async () => {
    const home = newHome()
    await familiar(['send', '-m', 'Remember that the wifi password is on the fridge'], { home })
    const backup = await familiar(['backup'], { home })
    expect(backup).toMatchObject({ code: 0, stdout: expect.stringMatching(/backups\/familiar-.*\.db\n$/) })
    const path = backup.stdout.trim()
    expect(await familiar(['backup', path], { home })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('exists already'),
    })
    await familiar(['send', '-m', 'Remember that the tent is in the attic'], { home })
    expect(await familiar(['restore', path], { home, input: '' })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--yes'),
    })
    const restored = JSON.parse((await familiar(['restore', path, '--yes', '--json'], { home })).stdout)
    expect(restored.kept_aside).toMatch(/familiar\.db\.before-restore-/)
    expect((await familiar(['send', '-m', 'Where is the tent?'], { home })).stdout).not.toMatch(/attic/)
    expect((await familiar(['send', '-m', 'Where is the wifi password?'], { home })).stdout).toMatch(/fridge/)
    await familiar(['restore', restored.kept_aside, '--yes'], { home })
    expect((await familiar(['send', '-m', 'Where is the tent?'], { home })).stdout).toMatch(/attic/)
    expect(await familiar(['restore', join(home, 'nope.db'), '--yes'], { home })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no backup'),
    })
  })

  it('SESS-8 resets by asking first, keeps what was said, and begins anew', async () => {
    const home = newHome()
    await familiar(['send', '-m', 'Hello'], { home })
    expect(await familiar(['reset', 'main'], { home, input: '' })).toMatchObject({ code: 2 })
    const reset = JSON.parse((await familiar(['reset', 'main', '--yes', '--json'], { home })).stdout)
    const id = reset.archived[0].id
    expect(await familiar(['history', 'main'], { home })).toMatchObject({ code: 1 })
    expect((await familiar(['history', id], { home })).stdout).toMatch(/Hello/)
    await familiar(['send', '-m', 'Hello again'], { home })
    expect((await familiar(['history', 'main'], { home })).stdout).not.toMatch(/Hello\n/)
  })
})
