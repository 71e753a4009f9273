import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import type { StreamedEvent } from '../../protocol/events.ts'
import type { ChatSession } from './chat-line.ts'
import { type PipedCommand, runPipeChat } from './plain-chat.ts'

async function pipe(input: string, options: { once?: boolean; json?: boolean } = {}) {
  const said: string[] = []
  const events: (StreamedEvent | PipedCommand)[] = []
  let written = ''
  const partner: ChatSession['partner'] = {
    async *say(text) {
      said.push(text)
      yield { cursor: '1', event: { type: 'turn_end', turnId: 't', outcome: 'completed' } }
    },
    stop: async () => false,
  }
  const commands: ChatSession['commands'] = {
    async run(line) {
      if (line === '/reset') return { ok: true, text: 'Archive it?', confirm: 'yes' }
      return line === '/nothing'
        ? { ok: false, text: 'There is no /nothing.' }
        : { ok: true, text: `ran ${line}\u001b[2J` }
    },
    complete: async () => ({ start: 0, candidates: [] }),
  }
  const isFine = await runPipeChat({
    input: Readable.from([input]),
    write: (text) => {
      written += text
    },
    partner,
    commands,
    ownCommands: { status: { help: '', run: async () => ['All', 'well.'] } },
    once: options.once === true,
    signal: new AbortController().signal,
    ...(options.json && { onEvent: (event) => void events.push(event) }),
  })
  return { said, written, isFine, events }
}

it('CHAN-2 a pipe runs a line that begins with a slash, and two slashes begin a message with one', async () => {
  const { said, written, isFine } = await pipe('hello\n/cost week\n/status\n//etc/hosts\n/exit\nnever\n')
  expect(said).toEqual(['hello', '/etc/hosts'])
  expect(written).toBe('ran /cost week\nAll\nwell.\n')
  expect(isFine).toBe(true)
})

it('ASSET-5 makes no confirmed change in a pipe, and fails for unknown commands', async () => {
  const asked = await pipe('/reset\n')
  expect(asked).toMatchObject({ isFine: false, said: [] })
  expect(asked.written).toMatch(/^Archive it\?\nNothing was changed/)
  expect(await pipe('/nothing\n')).toMatchObject({ isFine: false, written: 'There is no /nothing.\n' })
})

it('CHAN-2 takes a whole document as one message, whatever it begins with', async () => {
  const program = '// a comment\nlet a = 1\n'
  expect((await pipe(program, { once: true })).said).toEqual([program])
  expect(await pipe('/cost\n', { once: true })).toMatchObject({ said: [], written: 'ran /cost\n' })
})

it('CLI-1 reports commands to programs in separate lines of JSON', async () => {
  const { events, written } = await pipe('/cost\nhi\n', { json: true })
  expect(events).toMatchObject([{ command: '/cost', ok: true }, { event: { type: 'turn_end' } }])
  expect(written).toBe('')
})
