import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { expect, it } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import type { StreamedEvent, TurnEvent } from '../../protocol/event.ts'
import type { ChatPartner } from './chat-partner.ts'
import { runPlainChat } from './plain-chat.ts'

/** A terminal with a person at it, and a partner that answers each message when it is told to. */
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
  const partner: ChatPartner = {
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
  const commands = {
    cost: { takes: '[period]', help: 'what it cost', run: async (period: string) => [`$1 (${period})`] },
  }
  const controller = new AbortController()
  const clock = systemClock()
  const options = { input, output, partner, commands, colours: false, clock, signal: controller.signal }
  const ended = runPlainChat(options)
  const until = (pattern: RegExp) =>
    new Promise<void>((resolve) => {
      look = () => pattern.test(stripVTControlCharacters(shown)) && resolve()
      look()
    })
  return { type: (text: string) => input.write(text), until, said, stops: () => stops, ended, controller, input }
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
  await chat.until(/\$1 \(week\)/)
  chat.type('/help\r')
  await chat.until(/\/cost \[period\] +what it cost[\s\S]*\/exit/)
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

it('DAEMON-1 leaves when it is told from outside', async () => {
  const chat = openChat()
  chat.type('wait\r')
  await chat.until(/wait\r?\n/)
  chat.controller.abort()
  await chat.ended
})
