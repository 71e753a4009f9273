import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { expect, it } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import type { StreamedEvent, TurnEvent } from '../../protocol/events.ts'
import type { ChatSession } from './chat-line.ts'
import { runPlainChat } from './plain-chat.ts'

/** A terminal with a person at it, and a partner that answers each message on command. */
function openChat() {
  const input = new PassThrough()
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 })
  let shown = ''
  let look: (() => void) | undefined
  output.setEncoding('utf8').on('data', (chunk: string) => {
    shown += chunk
    look?.()
  })
  const said: string[] = []
  let stops = 0
  let release = Promise.withResolvers<string>()
  const partner: ChatSession['partner'] = {
    async *say(text) {
      said.push(text)
      const reply = text.startsWith('wait') ? await release.promise : `You said: ${text}`
      yield* turn(reply)
    },
    async stop() {
      stops += 1
      release.resolve('Stopped.')
      release = Promise.withResolvers()
      return true
    },
  }
  const ran: [string, string | undefined][] = []
  const commands: ChatSession['commands'] = {
    async run(line, confirm) {
      ran.push([line, confirm])
      if (line === '/stop') return { ok: true, text: (await partner.stop()) ? 'Stopping.' : 'Nothing is running.' }
      if (line === '/forget tea') {
        return { ok: true, ...(confirm === 'tea' ? { text: 'Forgot it.' } : { text: 'Forget tea?', confirm: 'tea' }) }
      }
      return { ok: true, text: line.startsWith('/cost') ? `$1 (${line})` : `There is no ${line}.` }
    },
    complete: async (line) =>
      line.includes(' ')
        ? { start: line.indexOf(' ') + 1, candidates: [{ text: 'notes/tea.md' }] }
        : { start: 0, candidates: [{ text: '/pin' }, { text: '/pinned' }] },
  }
  const ownCommands = { status: { help: 'what runs', run: async () => ['All is well.'] } }
  const controller = new AbortController()
  const clock = systemClock()
  const options = { input, output, partner, commands, ownCommands, colours: false, clock, signal: controller.signal }
  const ended = runPlainChat(options)
  const until = (pattern: RegExp) =>
    new Promise<void>((resolve) => {
      look = () => pattern.test(stripVTControlCharacters(shown)) && resolve()
      look()
    })
  return { type: (text: string) => input.write(text), until, said, ran, stops: () => stops, ended, controller, input }
}

function* turn(reply: string): Generator<StreamedEvent> {
  const turnId = 't'
  const events: TurnEvent[] = [
    { type: 'text_delta', turnId, text: reply },
    { type: 'response', turnId, text: reply, buildId: null, pendingQuestion: null, toolCalls: [], deliver: true },
    { type: 'turn_end', turnId, outcome: 'completed' },
  ]
  for (const event of events) yield { cursor: '1', event }
}

it('CLI-1 answers line by line until /exit', async () => {
  const chat = openChat()
  await chat.until(/› $/)
  chat.type('hello\r')
  await chat.until(/You said: hello\n/)
  chat.type('\r')
  chat.type('/cost week\r')
  await chat.until(/\$1 \(\/cost week\)/)
  chat.type('/status\r')
  await chat.until(/All is well\./)
  chat.type('/help\r')
  await chat.until(/There is no \/help[\s\S]*\/status {2}what runs[\s\S]*\/exit/)
  chat.type('/constructor\r')
  await chat.until(/There is no \/constructor/)
  chat.type('//etc/passwd\r')
  await chat.until(/You said: \/etc\/passwd/)
  chat.type('/exit\r')
  await chat.ended
  expect(chat.said).toEqual(['hello', '/etc/passwd'])
})

it('LOOP-8 stops the running turn with Ctrl-C, and leaves with the second', async () => {
  const chat = openChat()
  chat.type('wait for it\r')
  await chat.until(/wait for it\r?\n/)
  chat.type('\u0003')
  await chat.until(/stopping[\s\S]*Stopped\./)
  expect(chat.stops()).toBe(1)
  await chat.until(/Stopped\.\n› $/)
  chat.type('half a line\u0003')
  await chat.until(/Ctrl-C again, or \/exit, leaves\n› $/)
  chat.type('\u0003')
  await chat.ended
  expect(chat.said).toEqual(['wait for it'])
})

it('CLI-1 takes /stop and the next message while a turn runs', async () => {
  const chat = openChat()
  chat.type('wait\r')
  await chat.until(/wait\r?\n/)
  chat.type('and then this\r/stop\r')
  await chat.until(/Stopped\.[\s\S]*You said: and then this/)
  expect(chat.said).toEqual(['wait', 'and then this'])
  chat.input.end('\u0004')
  await chat.ended
})

it('DAEMON-1 exits on a signal', async () => {
  const chat = openChat()
  chat.type('wait\r')
  await chat.until(/wait\r?\n/)
  chat.controller.abort()
  await chat.ended
})

it('ASSET-5 makes the change of a command only after a plain yes', async () => {
  const chat = openChat()
  for (const [place, answer] of ['no', 'tell me more first', '/cost'].entries()) {
    chat.type('/forget tea\r')
    await chat.until(new RegExp(`(?:Forget tea\\?[\\s\\S]*){${place + 1}}yes confirms[^›]*› $`))
    chat.type(`${answer}\r`)
    await chat.until(new RegExp(`(?:nothing changed[\\s\\S]*){${place + 1}}› $`))
  }
  chat.type('yes\r')
  await chat.until(/You said: yes/)
  expect(chat.ran.filter(([, confirm]) => confirm !== undefined)).toEqual([])
  chat.type('/forget tea\r')
  await chat.until(/You said: yes[\s\S]*yes confirms[^›]*› $/)
  chat.type('yes\r')
  await chat.until(/Forgot it\./)
  chat.type('yes\r')
  await chat.until(/You said: yes[\s\S]*You said: yes/)
  expect(chat.ran.filter(([, confirm]) => confirm !== undefined)).toEqual([['/forget tea', 'tea']])
  expect(chat.said).toEqual(['tell me more first', 'yes', 'yes'])
  chat.controller.abort()
  await chat.ended
})

it('CMD-1 completes a command with the tab key', async () => {
  const chat = openChat()
  await chat.until(/› $/)
  chat.type('/pi\t')
  await chat.until(/\/pin$/)
  chat.type(' no\t')
  await chat.until(/\/pin notes\/tea\.md $/)
  chat.type('\r')
  await chat.until(/There is no \/pin notes\/tea\.md\./)
  expect(chat.ran).toEqual([['/pin notes/tea.md', undefined]])
  chat.controller.abort()
  await chat.ended
})
