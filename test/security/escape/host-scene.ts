import { execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type ListenOptions, type Server } from 'node:net'
import { hostname, networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SandboxMount } from '../../../src/sandbox/sandbox.ts'

/**
 * Targets of a probe on this machine: files, processes, services, all made for it. Their state is checked from here,
 * whatever the probe reports.
 */
export interface HostScene {
  /** Part of everything that must not be read. It is never passed to a probe. */
  secret: string
  mounts: SandboxMount[]
  /** The input of the probes. */
  told: Record<string, unknown>
  /** The effects on the host. */
  effects(): string[]
  dispose(): void
}

export async function setHostScene(options: { driverFolder: string; engineSockets: string[] }): Promise<HostScene> {
  const { driverFolder, engineSockets } = options
  const secret = `secret-${randomUUID()}`
  const victimMark = `victim-${randomUUID()}`
  const folder = mkdtempSync(join(tmpdir(), 'familiar-host-'))
  // As inviting as it can be: open to every user of the host.
  chmodSync(folder, 0o777)
  const [tool, otherTool] = [join(folder, 'tool'), join(folder, 'other-tool')]
  for (const path of [tool, otherTool]) mkdirSync(path)
  const secretFile = join(folder, 'secret')
  for (const path of [secretFile, join(otherTool, 'secret'), join(driverFolder, 'secret')]) writeFileSync(path, secret)
  const toolFile = join(tool, 'file')
  writeFileSync(toolFile, 'as it was')
  for (const path of [tool, toolFile]) chmodSync(path, 0o777)
  symlinkSync(secretFile, join(tool, 'link'))
  const sharedMemoryFile = `/dev/shm/${victimMark}`
  writeFileSync(sharedMemoryFile, secret)
  const segment = Number(/\d+/.exec(execFileSync('ipcmk', ['--shmem', '64', '--mode', '0666'], { encoding: 'utf8' })))
  process.env.FAMILIAR_PROBE_CANARY = secret
  const victim = spawn('sleep', ['3600'], { argv0: victimMark, stdio: 'ignore' })

  const touched: string[] = []
  const services: Server[] = []
  const serve = async (what: string, where: ListenOptions) => {
    const server = createServer((socket) => {
      touched.push(`${what} was reached`)
      socket.on('error', () => undefined)
      socket.end(secret)
    })
    services.push(server)
    server.listen(where)
    await once(server, 'listening')
    const address = server.address()
    return address && typeof address === 'object' ? address.port : 0
  }
  const socketFile = join(folder, 'host.sock')
  const abstractName = `familiar-${randomUUID()}`
  // Both families on every address of the host, the loopback ones included.
  const hasSix = existsSync('/proc/net/if_inet6')
  const port = await serve('a port', { host: hasSix ? '::' : '0.0.0.0', port: 0 })
  await serve('a socket file', { path: socketFile, readableAll: true, writableAll: true })
  await serve('an abstract socket', { path: `\0${abstractName}` })
  const datagrams = createSocket({ type: hasSix ? 'udp6' : 'udp4' })
  datagrams.on('message', () => touched.push('a datagram came in'))
  datagrams.bind(0)
  await once(datagrams, 'listening')

  const corePattern = () => readFileSync('/proc/sys/kernel/core_pattern', 'utf8')
  const corePatternBefore = corePattern()
  const rootDevice = statSync('/').dev
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? [])

  return {
    secret,
    mounts: [{ source: tool, target: '/tool' }],
    told: {
      secretFile,
      driverFolder,
      engineSockets,
      victimMark,
      sharedMemoryFile,
      segment,
      socketFile,
      abstractName,
      port,
      openFolder: folder,
      programFolder: process.cwd(),
      canaryName: 'FAMILIAR_PROBE_CANARY',
      victim: victim.pid,
      datagramPort: datagrams.address().port,
      addresses: addresses.filter(({ internal }) => !internal).map(({ address }) => address),
      rootDevice: [rootDevice >> 8, rootDevice & 0xff],
      hostname: hostname(),
    },
    effects() {
      const seen = [...touched]
      if (readFileSync(toolFile, 'utf8') !== 'as it was') seen.push('a file of the tool was changed')
      if (readdirSync(tool).toSorted().join() !== 'file,link') seen.push('the folder of the tool was changed')
      if (existsSync(join(folder, 'left-by-a-probe'))) seen.push('a file was left on the host')
      if (victim.exitCode !== null || victim.signalCode !== null) seen.push('a process of the host was ended')
      if (corePattern() !== corePatternBefore) seen.push('core_pattern was changed')
      if (existsSync('/familiar-probe') || existsSync('/usr/familiar-probe')) seen.push('a file was left in the system')
      return seen
    },
    dispose() {
      delete process.env.FAMILIAR_PROBE_CANARY
      victim.kill('SIGKILL')
      for (const service of services) service.close()
      datagrams.close()
      execFileSync('ipcrm', ['--shmem-id', String(segment)])
      rmSync(sharedMemoryFile, { force: true })
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
