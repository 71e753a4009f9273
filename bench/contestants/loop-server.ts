import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface LoopMessage {
  role: 'user' | 'assistant'
  content: string
}

export const modelUrl = process.argv[2] ?? ''
/** The folder for contestants that store their sessions. */
export const folder = process.argv[3] ?? ''
/** Whether the one tool is on offer; without it a turn is one request. */
export const offersTool = process.argv[4] === 'tool'
export const systemPrompt = 'You are a helpful assistant.'

/** The same words for every contestant that offers it. */
export const tool = {
  name: 'look_up',
  description: 'Looks a word up.',
  run: ({ word }: { word: string }): string => `${word}: a word of ${word.length} letters`,
} as const

/**
 * Serves whatever answers a message of a session, and says how long that took inside of the process: what HTTP adds in
 * front of it is the same for all who are served here.
 */
export function serveAnswers(answer: (message: string, session: string) => Promise<string>): void {
  const server = createServer((request, response) => {
    if (request.method === 'GET') return void response.end('{"ok":true}')
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (chunk: string) => {
      body += chunk
    })
    request.on('end', async () => {
      const { message, session } = JSON.parse(body) as { message: string; session: string }
      const begun = performance.now()
      const reply = await answer(message, session).catch((error: unknown) => {
        console.error(error)
        response.statusCode = 500
        return String(error)
      })
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ reply, inProcessMs: performance.now() - begun }))
    })
  })
  server.listen(0, '127.0.0.1', () => {
    console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }))
  })
}

/** Serves a loop that keeps its sessions in memory and nothing else: what a turn costs when nothing is made sure of. */
export function serveLoop<Kept>(answer: (kept: (Kept | LoopMessage)[]) => Promise<string>): void {
  const sessions = new Map<string, (Kept | LoopMessage)[]>()
  serveAnswers(async (message, session) => {
    const messages = sessions.get(session) ?? []
    sessions.set(session, messages)
    messages.push({ role: 'user', content: message })
    const reply = await answer(messages)
    messages.push({ role: 'assistant', content: reply })
    return reply
  })
}
