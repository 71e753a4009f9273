import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createMcpApprovals, serverFingerprint } from '../../src/tools/mcp/tool-listing.ts'
import { startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { rawServer } from '../support/mcp/mcp-scene.ts'
import { startFamiliar } from '../support/running-familiar.ts'
import { said, toolOf } from '../support/scripted-familiar.ts'

function providerAt(url: string): string {
  return `type = "openai-compatible"\nbase_url = "${url}/v1"\napi_key_env = "FAKE_KEY"\n[models.main]\nmodel = "fake-model"\n`
}

describe('the daemon as a whole', () => {
  it('MON-1 the current activity is in monitor.json', async () => {
    const fake = await startFakeModel({ script: [{ hang: true }] })
    const familiar = await startFamiliar({ providers: { fake: providerAt(fake.url) } })
    const monitor = () => JSON.parse(readFileSync(join(familiar.home, 'monitor.json'), 'utf8'))
    try {
      const { session_id } = (await (await familiar.request('POST', '/api/v1/notify', { message: 'go' })).json()) as {
        session_id: string
      }
      await fake.until(() => fake.stats().inFlight === 1)
      await expect.poll(monitor).toMatchObject({
        state: 'thinking',
        turns: [{ contact: 'main', model: 'fake/main', sessionId: session_id, round: 1 }],
      })
      await familiar.request('POST', `/api/v1/sessions/${session_id}/stop`, {})
      await expect.poll(monitor).toMatchObject({ state: 'idle', turns: [] })
    } finally {
      await familiar.close()
      await fake.close()
    }
  })

  it('DAEMON-1 a stop lets the running step end and leaves the rest to the next start', async () => {
    let ran = 0
    const released = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const slow = toolOf('slow', async () => {
      ran += 1
      begun.resolve()
      await released.promise
      return said('done slowly')
    })
    const fake = await startFakeModel({ script: [{ toolCalls: [{ name: 'slow' }] }, { text: 'All done.' }] })
    const options = { providers: { fake: providerAt(fake.url) }, extraTools: [slow] }
    const first = await startFamiliar(options)
    const receipt = (await (await first.request('POST', '/api/v1/notify', { message: 'go' })).json()) as {
      message_id: string
    }
    await begun.promise
    const closed = first.daemon.close(10_000)
    released.resolve()
    await closed
    expect(fake.stats().requests).toBe(1)
    const second = await startFamiliar({ ...options, home: first.home })
    try {
      expect(second.daemon.recovered).toMatchObject({ resumedTurns: 1, uncleanStop: false })
      const end = await second.daemon.conversations.waitForTurn(receipt.message_id)
      expect(end).toMatchObject({ outcome: 'completed', text: 'All done.' })
      expect(ran).toBe(1)
    } finally {
      await second.close()
      await fake.close()
    }
  })

  it('TOOL-12 a turn that the start resumes has the tools of an MCP server that hangs', async () => {
    const search = { name: 'find_tools', input: { query: 'says it again' } }
    const fake = await startFakeModel({ script: [{ hang: true }, { toolCalls: [search] }, { text: 'All done.' }] })
    const server = rawServer('silent')
    const toml = `[mcp.servers.notes]\ncommand = "${server.command}"\nargs = ${JSON.stringify(server.args)}\n`
    const options = { providers: { fake: providerAt(fake.url) } }
    const first = await startFamiliar(options)
    const { message_id } = (await (await first.request('POST', '/api/v1/notify', { message: 'go' })).json()) as {
      message_id: string
    }
    await fake.until(() => fake.stats().inFlight === 1)
    const tools = [{ name: 'echo', description: 'Says it again.', inputSchema: { type: 'object' as const } }]
    const approvals = createMcpApprovals({ database: first.daemon.database, clock: systemClock() })
    await approvals.approve('notes', { fingerprint: serverFingerprint(server, tools), tools })
    await first.daemon.close(0)
    const second = await startFamiliar({ ...options, toml, home: first.home })
    try {
      const end = await second.daemon.conversations.waitForTurn(message_id)
      expect(end).toMatchObject({ outcome: 'completed', text: 'All done.' })
      expect(JSON.stringify(fake.requests.at(-1)?.body)).toContain('mcp_notes_echo')
    } finally {
      await second.close()
      await fake.close()
    }
  })
})
