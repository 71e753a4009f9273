import { parseArgs } from 'node:util'
import { beginLogin } from '../../../src/tools/mcp/begin-login.ts'
import type { McpAddress } from '../../../src/tools/mcp/server-program.ts'
import type { ToolOutcome } from '../../../src/tools/tool.ts'
import { openMcp } from './mcp-scene.ts'

/**
 * Familiar's MCP client with a user who approves the server, logs in when it is required, and accepts every question
 * with its default answer. The conformance suite of the MCP project runs it once for each scenario:
 * `npx conformance client --command "node test/support/mcp/conformance-client.ts" --suite all`.
 */

const { positionals } = parseArgs({ allowPositionals: true })
const given = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') as {
  client_id?: string
  client_secret?: string
  private_key_pem?: string
}
/** The owner's settings: the client that the scenario registered beforehand, or the address of a client document. */
const oauth = {
  clientId: given.client_id ?? 'https://conformance-test.local/client-metadata.json',
  clientSecret: given.client_secret ?? null,
  // A scenario of a program without a user: the owner chose that grant in the configuration.
  ...(process.env.MCP_CONFORMANCE_SCENARIO?.startsWith('auth/client-credentials-') && {
    isOwnLogin: true as const,
    privateKey: given.private_key_pem ?? null,
  }),
}
const address: McpAddress = { url: positionals.at(-1) ?? '', headers: {}, oauth }
/** The scenarios' authorization servers are on other ports of this machine. */
const allowedHosts = [{ host: 'localhost' }, { host: '127.0.0.1' }]
const maxSteps = 10

const scene = await openMcp({ tested: address }, { approved: false, allowedHosts })
try {
  await approve()
  for (const name of scene.names()) await call(name, name === 'mcp_tested_add_numbers' ? { a: 5, b: 3 } : {})
} finally {
  await scene.close()
}

/** The effect of `familiar mcp login` and of the user's browser, which agrees at once. */
async function logIn(scope: string): Promise<void> {
  const login = await beginLogin({
    server: 'tested',
    address,
    scope,
    redirectUrl: 'http://127.0.0.1:9/callback',
    state: 'state-of-this-login',
    logins: scene.logins,
    allowedHosts,
    signal: AbortSignal.timeout(20_000),
  })
  try {
    const response = await fetch(login.url, { redirect: 'manual' })
    await login.finish(new URL(response.headers.get('location') ?? '').searchParams)
  } finally {
    await login.close()
  }
}

async function approve(): Promise<void> {
  const seen = await scene.inspect('tested')
  if (!seen.ok && !seen.needsLogin) throw new Error(seen.problem)
  if (!seen.ok) await logIn(seen.scope ?? '')
  await scene.approve('tested')
}

async function call(name: string, input: object): Promise<void> {
  let outcome: ToolOutcome | undefined
  for (let step = 0; step < maxSteps; step += 1) {
    const answers = outcome?.question ?? null
    const userText = answers === null ? 'go on' : 'accept'
    outcome = await scene.call(name, { ...input }, undefined, { userText, answers })
    if (outcome.text.includes('familiar mcp login')) await logIn((await scene.approvals.read('tested')).loginScope)
    else if (outcome.question === undefined) break
  }
  console.log(`${name}: ${outcome?.text}`)
}
