import { join } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { type ChildOutcome, createRunChild } from '../../base/run-child.ts'
import { launchdLabel, launchdPlist } from './launchd-plist.ts'
import type { ServiceDefinition } from './service-definition.ts'
import { systemdUnit } from './systemd-unit.ts'

export interface ServiceState {
  isActive: boolean
  /** The process that the manager started, where one runs. */
  pid: number | undefined
}

type Line = readonly [string, ...string[]]

/** What `service` does, in the words of the machine's own manager. Each line is a program and its arguments. */
export interface ServiceManager {
  readonly name: 'systemd' | 'launchd'
  readonly path: string
  write(definition: ServiceDefinition): string
  readonly start: readonly Line[]
  readonly restart: readonly Line[]
  /** Stops it until `resume`; it stays installed. */
  readonly halt: readonly Line[]
  readonly resume: readonly Line[]
  /** Stops it for good. */
  readonly stop: readonly Line[]
  /** After the file is gone. */
  readonly forget: readonly Line[]
  readonly ask: Line
  readState(answer: string): ServiceState
  /** What the user may want to know after the installation. */
  readonly hint: string
}

type Environment = Readonly<Record<string, string | undefined>>

/** Undefined where the machine has neither. */
export function findServiceManager(options: {
  platform: NodeJS.Platform
  userDirectory: string
  userId: number
  env: Environment
}): ServiceManager | undefined {
  const { platform, userDirectory, userId, env } = options
  if (platform === 'linux') return systemd(env.XDG_CONFIG_HOME?.trim() || join(userDirectory, '.config'))
  if (platform === 'darwin') return launchd(userDirectory, userId)
  return undefined
}

function systemd(configDirectory: string): ServiceManager {
  const systemctl = (...words: string[]) => ['systemctl', '--user', ...words] as const
  return {
    name: 'systemd',
    path: join(configDirectory, 'systemd', 'user', 'familiar.service'),
    write: systemdUnit,
    start: [systemctl('daemon-reload'), systemctl('enable', '--now', 'familiar.service')],
    restart: [systemctl('daemon-reload'), systemctl('restart', 'familiar.service')],
    halt: [systemctl('stop', 'familiar.service')],
    resume: [systemctl('start', 'familiar.service')],
    stop: [systemctl('disable', '--now', 'familiar.service')],
    forget: [systemctl('daemon-reload')],
    ask: systemctl('show', 'familiar.service', '--property=ActiveState,MainPID'),
    readState(answer) {
      const pid = Number(/^MainPID=(\d+)$/m.exec(answer)?.[1] ?? 0)
      return { isActive: /^ActiveState=(active|activating|reloading)$/m.test(answer), pid: pid || undefined }
    },
    hint: 'It runs while you are logged in. To have it run always: loginctl enable-linger',
  }
}

function launchd(userDirectory: string, userId: number): ServiceManager {
  const path = join(userDirectory, 'Library', 'LaunchAgents', `${launchdLabel}.plist`)
  const domain = `gui/${userId}`
  return {
    name: 'launchd',
    path,
    write: launchdPlist,
    start: [['launchctl', 'bootstrap', domain, path]],
    restart: [['launchctl', 'kickstart', '-k', `${domain}/${launchdLabel}`]],
    halt: [['launchctl', 'bootout', `${domain}/${launchdLabel}`]],
    resume: [['launchctl', 'bootstrap', domain, path]],
    stop: [['launchctl', 'bootout', `${domain}/${launchdLabel}`]],
    forget: [],
    ask: ['launchctl', 'print', `${domain}/${launchdLabel}`],
    readState(answer) {
      const pid = Number(/^\s*pid = (\d+)$/m.exec(answer)?.[1] ?? 0)
      return { isActive: pid > 0, pid: pid || undefined }
    },
    hint: 'It runs while you are logged in.',
  }
}

export type ManagerAnswer = { ok: true; text: string } | { ok: false; message: string }

const wallMs = 90_000
const outputBytes = 1_000_000

/** Asks the manager, or tells it something; the first line that fails ends it. */
export async function tellManager(
  lines: readonly Line[],
  { env, signal }: { env: Environment; signal: AbortSignal },
): Promise<ManagerAnswer> {
  const runChild = createRunChild({ clock: systemClock() })
  const handedOn = ['PATH', 'HOME', 'USER', 'LANG', 'XDG_RUNTIME_DIR', 'XDG_CONFIG_HOME', 'DBUS_SESSION_BUS_ADDRESS']
  const environment = Object.fromEntries(handedOn.flatMap((name) => (env[name] ? [[name, env[name]]] : [])))
  let text = ''
  for (const argv of lines) {
    const limits = { wallMs, outputBytes }
    const outcome = await runChild({
      argv,
      environment,
      workingDirectory: '/',
      stdin: new Uint8Array(),
      limits,
      signal,
    })
    if (outcome.end.kind !== 'exited' || outcome.end.code !== 0) return { ok: false, message: whyNot(argv, outcome) }
    text += Buffer.from(outcome.stdout).toString()
  }
  return { ok: true, text }
}

function whyNot(argv: readonly string[], { end, stderr }: ChildOutcome): string {
  const said = Buffer.from(stderr).toString().trim().split('\n')[0]
  const reason = said || (end.kind === 'not_started' ? `${argv[0]} is not there` : end.kind)
  return `${argv.join(' ')}: ${reason}`
}

/** Whether the service runs, as far as its manager tells; undefined where nobody answers. */
export async function serviceState(
  manager: ServiceManager,
  options: { env: Environment; signal: AbortSignal },
): Promise<ServiceState | undefined> {
  const answer = await tellManager([manager.ask], options)
  return answer.ok ? manager.readState(answer.text) : undefined
}
