import type { SandboxProxy } from '../../../egress/sandbox-proxy.ts'
import type { SandboxNetwork } from '../../../sandbox/sandbox.ts'
import type { Runnable } from './executor.ts'

/** Runs with a way to exactly the declared hosts, which is closed afterwards. Also tells where it was not let through to. */
export async function withDeclaredHosts<T>(
  { name, manifest }: Runnable,
  { proxy, signal }: { proxy: Pick<SandboxProxy, 'open'>; signal: AbortSignal },
  run: (network: SandboxNetwork) => Promise<T>,
): Promise<{ outcome: T; refusedHosts: string[] }> {
  if (manifest.hosts.length === 0) return { outcome: await run({ kind: 'none' }), refusedHosts: [] }
  const advice = 'A capability reaches only the hosts that its manifest declares.'
  const way = await proxy.open({ tool: name, hosts: manifest.hosts, advice, signal })
  try {
    const outcome = await run({ kind: 'proxy', socketPath: way.socketPath })
    return { outcome, refusedHosts: way.refused() }
  } finally {
    await way.close()
  }
}
