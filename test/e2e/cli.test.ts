import { afterEach, expect, it } from 'vitest'
import { chatReplySchema } from '../../src/protocol/api.ts'
import { parseWire } from '../../src/protocol/operation.ts'
import { cleanUp, familiar, familiarJson, newHome, serveFamiliar } from './cli-process.ts'

afterEach(cleanUp)

it('CLI-1 remembers, ends, and recalls in the next process with a citation', async () => {
  const home = newHome()
  const told = await familiar(['send', '-m', 'Remember that I am allergic to shellfish', '--json'], { home })
  expect(told).toMatchObject({ code: 0, stderr: '' })
  const answer = parseWire(chatReplySchema, await familiarJson(['send', '-m', 'What am I allergic to?'], { home }))
  expect(answer.reply).toMatch(/shellfish/)
  expect(answer.reply).toMatch(/\[memory:[\w-]+\]/)
  expect(answer.outcome).toBe('completed')
  expect(answer.session_id).toBe(parseWire(chatReplySchema, JSON.parse(told.stdout)).session_id)
  const plain = await familiar(['send', '-m', 'What am I allergic to?'], { home })
  expect(plain.stdout).toBe(`${answer.reply}\n`)
})

it.each([[[]], [['--help']], [['help']]])('CLI-1 helps with %j', async (args) => {
  const home = newHome()
  const { code, stdout, stderr } = await familiar(args, { home })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('familiar send "Remember that I am allergic to shellfish"')
  expect(stdout).toContain(`Home: ${home}`)
  expect(stdout).toContain('ANTHROPIC_API_KEY')
  expect(stdout).toContain('familiar setup')
})

it('CLI-1 helps with one command, as npm start -- --help does', async () => {
  const home = newHome()
  const { code, stdout } = await familiar(['start', '--help'], { home })
  expect(code).toBe(0)
  expect(stdout).toContain('Usage: familiar start [options]')
  expect(stdout).toContain('--port <port>')
  const version = await familiar(['--version'], { home })
  expect(version).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
})

it.each([
  [['sned', '-m', 'x'], /unknown command 'sned'\s.*Did you mean send\?/],
  [['send', '--mesage', 'x'], /unknown option '--mesage'\s.*Did you mean --message\?/],
  [['send', '-m', 'x', '--tier', 'ful'], /--tier.*full, operational/],
  [['cost', '--period', 'year'], /today, week, month, all/],
  [['serve', '--port', '70000'], /Expected a port from 0 to 65535/],
  [['reset'], /No session given/],
  [['status', 'now'], /too many arguments/],
  [['export', '--all', '--session', 'x'], /cannot be used with/],
  [['send'], /No message given/],
  [['send', 'Hello', '-m', 'Hello'], /Two messages are given/],
  [['send', '-m', ''], /The message is empty/],
  [['send', '-m', ' \n\t'], /The message is empty/],
  [['send', '-m', '-'], /The message is empty/],
  [['send', '-m', 'x', '--source', 'Bad Source'], /source: /],
])('CLI-1 refuses %j with 2 and says why', async (args, reason) => {
  const { code, stdout, stderr } = await familiar(args, { home: newHome() })
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(reason)
})

it('CLI-1 prints an error as JSON too, where JSON was asked for', async () => {
  const home = newHome()
  await familiar(['send', '-m', 'Hello'], { home })
  const { code, stdout } = await familiar(['history', 'nobody', '--json'], { home })
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject({ code: 'not_found', error: expect.stringContaining('"nobody"') })
})

it('CLI-1 prints JSON that parses, and no colors in a pipe, with every read-only command', async () => {
  const home = newHome()
  await serveFamiliar({ home })
  await familiar(['send', '-m', 'Remember that the spare key is under the pot'], { home })
  const looks = [
    'status',
    'monitor',
    'cost --period all',
    'sessions --all',
    'history --full',
    'context',
    'cancel',
    'log',
  ]
  for (const look of [...looks, 'doctor']) {
    const plain = await familiar(look.split(' '), { home })
    expect(plain.code, `${look}: ${plain.stdout}`).toBe(0)
    expect(plain, look).toMatchObject({ stderr: '', stdout: expect.not.stringContaining('\u001b') })
    const json = await familiar([...look.split(' '), '--json'], { home })
    for (const line of json.stdout.trim().split('\n')) expect(JSON.parse(line)).toBeTypeOf('object')
  }
})

it('SEC-10 removes escape sequences from the history', async () => {
  const home = newHome()
  await serveFamiliar({ home })
  const nasty = 'Remember \u001b]0;owned\u0007that\u001b[2J \u202eevil\u009b31m things'
  await familiar(['send', '-m', nasty], { home })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that must not reach a terminal.
  const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/
  for (const look of [['history'], ['log'], ['history', '--full'], ['log', '--json'], ['history', '--json']]) {
    expect((await familiar(look, { home })).stdout, look.join(' ')).not.toMatch(unsafe)
  }
  expect(await familiarJson(['history'], { home })).toMatchObject({ events: [{ text: nasty }, {}] })
})
