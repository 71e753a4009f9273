import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface LoopMessage {
  role: 'user' | 'assistant'
  content: string
}

/** Serves a loop that keeps its sessions in memory and nothing else: what a turn costs when nothing is made sure of. */
export function serveLoop(answer: (messages: LoopMessage[]) => Promise<string>): void {
  const sessions = new Map<string, LoopMessage[]>()
  const server = createServer((request, response) => {
    if (request.method === 'GET') return void response.end('{"ok":true}')
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (chunk: string) => {
      body += chunk
    })
    request.on('end', async () => {
      const { message, session } = JSON.parse(body) as { message: string; session: string }
      const messages = sessions.get(session) ?? []
      sessions.set(session, messages)
      messages.push({ role: 'user', content: message })
      const reply = await answer(messages)
      messages.push({ role: 'assistant', content: reply })
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ reply }))
    })
  })
  server.listen(Number(process.argv[3] ?? 0), '127.0.0.1', () => {
    console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }))
  })
}

export const modelUrl = process.argv[2] ?? ''
export const systemPrompt = 'You are a helpful assistant.'
