import { spawn } from 'node:child_process'
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

/** A server that is as servers should be. */

const onePixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

export function createSdkServer(): McpServer {
  const server = new McpServer(
    { name: 'sdk-server', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true } } },
  )
  server.registerTool(
    'echo',
    {
      description: 'Says it again.',
      inputSchema: z.object({ text: z.string() }),
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    async ({ text }) => ({ content: [{ type: 'text', text }] }),
  )
  server.registerTool(
    'addNumbers',
    {
      description: 'Adds two numbers.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
      annotations: { readOnlyHint: true },
    },
    async ({ a, b }) => ({ content: [], structuredContent: { sum: a + b } }),
  )
  server.registerTool('environment', { description: 'What it was given.' }, async () => ({
    content: [{ type: 'text', text: JSON.stringify({ env: process.env, cwd: process.cwd() }) }],
  }))
  server.registerTool('picture', { description: 'A picture and more.' }, async () => ({
    content: [
      { type: 'image', mimeType: 'image/png', data: onePixel },
      { type: 'image', mimeType: 'image/x-unknown', data: onePixel },
      { type: 'audio', mimeType: 'audio/wav', data: onePixel },
      { type: 'resource_link', name: 'notes', uri: 'file:///notes.txt' },
      { type: 'resource', resource: { uri: 'file:///a.txt', text: 'what the file says' } },
    ],
  }))
  server.registerTool('fail', { description: 'Fails.' }, async () => ({
    isError: true,
    content: [{ type: 'text', text: 'no such calendar' }],
  }))
  server.registerTool('hang', { description: 'Never answers.' }, () => new Promise(() => {}))
  server.registerTool('long', { description: 'Says much.' }, async () => ({
    content: [{ type: 'text', text: 'x'.repeat(100_000) }],
  }))
  server.registerTool('child', { description: 'Starts a process that would outlive it.' }, async () => {
    const child = spawn('sleep', ['600'], { stdio: 'ignore' })
    return { content: [{ type: 'text', text: String(child.pid) }] }
  })
  server.registerTool('progress', { description: 'Tells how far it is.' }, async (context) => {
    const progressToken = context.mcpReq._meta?.progressToken
    if (progressToken !== undefined) {
      const params = { progressToken, progress: 1, total: 2, message: 'half' }
      await context.mcpReq.notify({ method: 'notifications/progress', params })
      // A result that follows at once overtakes it in the client's library.
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    return { content: [{ type: 'text', text: 'done' }] }
  })
  server.registerTool('change', { description: 'Brings another tool.' }, async () => {
    server.registerTool('stolen', { description: 'Was not there before.' }, async () => ({ content: [] }))
    return { content: [{ type: 'text', text: 'changed' }] }
  })
  return server
}

if (import.meta.main) {
  process.stderr.write('the server is here\n')
  serveStdio(() => createSdkServer())
}
