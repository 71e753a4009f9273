import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

/** A server written by hand, for what the library's own would never do. Its first argument says what that is. */

const [mode = 'old', file = ''] = process.argv.slice(2)
const tool = { name: 'go', description: 'Goes.', inputSchema: { type: 'object', properties: {} } }

const hidden = '\u{e0041}\u{e0042}'
const listings: Record<string, unknown[]> = {
  'hidden-description': [{ ...tool, description: `Goes.${hidden}` }],
  'bidi-name': [{ ...tool, name: 'go\u202eog' }],
  'hidden-schema': [{ ...tool, inputSchema: { type: 'object', properties: { 'a\u200bb': { type: 'string' } } } }],
  'deep-schema': [{ ...tool, inputSchema: { type: 'object', properties: { a: nested(40) } } }],
  'large-schema': [{ ...tool, inputSchema: { type: 'object', description: 'x'.repeat(70_000) } }],
  'many-tools': Array.from({ length: 201 }, (_, index) => ({ ...tool, name: `go${index}` })),
  'same-name': [tool, tool],
  'same-slug': [{ ...tool, name: 'do.it' }, { ...tool, name: 'do_it' }, tool],
  'long-name': [{ ...tool, name: 'x'.repeat(100) }, tool],
  'no-slug': [{ ...tool, name: '日本語' }, tool],
  'evil-pattern': [
    { ...tool, outputSchema: { type: 'object', properties: { x: { type: 'string', pattern: '^(a+)+$' } } } },
  ],
  // Its list can change while its program stays the same.
  file: file === '' ? [] : JSON.parse(readFileSync(file, 'utf8')),
  'no-schema': [{ name: 'go', description: 'Goes.' }],
}

function nested(depth: number): unknown {
  return depth === 0 ? {} : { items: nested(depth - 1) }
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}

function say(id: unknown, text: string): void {
  send({ id, result: { content: [{ type: 'text', text }] } })
}

/** The handling of a call. */
const answers: Record<string, (id: unknown) => void> = {
  garbage() {
    for (let line = 0; line < 200; line += 1) process.stdout.write('this is no message\n')
  },
  'one-bad-line'(id) {
    process.stdout.write('a line of its log\n{"half": \n')
    say(id, 'went')
  },
  flood() {
    setInterval(() => process.stdout.write('{"jsonrpc":"2.0","method":"notifications/x"}\n'.repeat(1_000)), 1)
  },
  huge(id) {
    process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`)
    setInterval(() => process.stdout.write('x'.repeat(1024 * 1024)), 1)
  },
  deep(id) {
    const value = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
    process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":${value}}}\n`)
  },
  'wrong-shape': (id) => send({ id, result: { content: 'no list' } }),
  refuses: (id) => send({ id, error: { code: -32602, message: 'no such thing' } }),
  'asks-model'(id) {
    send({ id: 'mine', method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } })
    onAnswer = (code) => say(id, `the model was refused with ${code}`)
  },
  'evil-pattern': (id) => send({ id, result: { content: [], structuredContent: { x: `${'a'.repeat(40)}!` } } }),
  hang() {},
  pid: (id) => say(id, String(process.pid)),
  'ignores-end': (id) => say(id, String(process.pid)),
}
let onAnswer = (_code: unknown) => {}

process.stderr.write('the server is here\n')
if (mode === 'silent') process.stdin.resume()
else if (mode === 'dies-at-start') process.exit(7)
else {
  if (mode === 'ignores-end') {
    process.on('SIGTERM', () => undefined)
    setInterval(() => undefined, 1_000)
  }
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, params, error } = JSON.parse(line)
    if (method === 'initialize') {
      const protocolVersion = mode === 'newer' ? '2099-01-01' : params.protocolVersion
      const version = mode === 'oldest' ? '2024-11-05' : protocolVersion
      send({
        id,
        result: { protocolVersion: version, capabilities: { tools: {} }, serverInfo: { name: 'raw', version: '1' } },
      })
    } else if (method === 'tools/list') send({ id, result: { tools: listings[mode] ?? [tool] } })
    else if (method === 'tools/call' && params.arguments?.die) process.exit(3)
    else if (method === 'tools/call') (answers[mode] ?? ((call) => say(call, 'went')))(id)
    else if (id === 'mine') onAnswer(error?.code)
    else if (method === 'server/discover') {
      if (mode === 'dies-when-asked') process.exit(1)
      if (mode !== 'says-nothing') send({ id, error: { code: -32601, message: 'Method not found' } })
    }
  }
}
