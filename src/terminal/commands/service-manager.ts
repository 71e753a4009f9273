import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { type CommandContext, CommandError } from '../command.ts'
import { type ProcessEnvironment, runProgram } from '../local-home.ts'

interface ServiceState {
  isActive: boolean
  /** The process that the manager started, if any. */
  pid: number | undefined
}

type Line = readonly [string, ...string[]]

/** The commands of the service manager of this machine. Each line is a program and its arguments. */
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
  /** A hint for after the installation. */
  readonly hint: string
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

type ManagerAnswer = { ok: true; text: string } | { ok: false; message: string }

const wallMs = 90_000

/** Runs commands of the manager up to the first one that fails. */
export async function tellManager(
  lines: readonly Line[],
  { env, signal }: { env: ProcessEnvironment; signal: AbortSignal },
): Promise<ManagerAnswer> {
  const handedOn = ['PATH', 'HOME', 'USER', 'LANG', 'XDG_RUNTIME_DIR', 'XDG_CONFIG_HOME', 'DBUS_SESSION_BUS_ADDRESS']
  const environment = Object.fromEntries(handedOn.flatMap((name) => (env[name] ? [[name, env[name]]] : [])))
  let text = ''
  for (const argv of lines) {
    const run = await runProgram({ argv, environment, workingDirectory: '/', wallMs, signal })
    if (!run.isFine) {
      const { end, stderr } = run.outcome
      const line = Buffer.from(stderr).toString().trim().split('\n')[0]
      const reason = line || (end.kind === 'not_started' ? `${argv[0]} is not there` : end.kind)
      return { ok: false, message: `${argv.join(' ')}: ${reason}` }
    }
    text += run.text
  }
  return { ok: true, text }
}

/** Whether the service runs; undefined if its manager does not answer. */
export async function serviceState(
  manager: ServiceManager,
  options: { env: ProcessEnvironment; signal: AbortSignal },
): Promise<ServiceState | undefined> {
  const answer = await tellManager([manager.ask], options)
  return answer.ok ? manager.readState(answer.text) : undefined
}

/** The program that the manager runs for this user. */
export interface ServiceDefinition {
  /** The program and its arguments; the program by its whole path. */
  command: readonly string[]
  /** Variables in addition to those of the manager. */
  environment: Readonly<Record<string, string>>
  /** The log file for launchd; systemd has a journal. */
  logFile: string
}

/** Part of every file that was written here, and of no other. */
export const marker = 'Written by "familiar service install".'

/** How long a stop may take: running work is finished first. */
const stopSeconds = 60

const launchdLabel = 'familiar'

/** The agent of a user's own launchd. Paths must be without control characters, for which XML has no words. */
export function launchdPlist({ command, environment, logFile }: ServiceDefinition): string {
  const variables = Object.entries(environment).flatMap(([name, value]) => [
    `    <key>${escapeXml(name)}</key>`,
    `    <string>${escapeXml(value)}</string>`,
  ])
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ${marker} It is replaced by the next one. -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${launchdLabel}</string>
  <key>ProgramArguments</key>
  <array>
${command.map((word) => `    <string>${escapeXml(word)}</string>`).join('\n')}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
${variables.join('\n')}
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>10</integer>
  <key>ExitTimeOut</key>
  <integer>${stopSeconds}</integer>
  <key>Umask</key>
  <integer>63</integer>
  <key>StandardOutPath</key>
  <string>${escapeXml(logFile)}</string>
  <key>StandardErrorPath</key>
  <string>${escapeXml(logFile)}</string>
</dict>
</plist>
`
}

function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&apos;')
}

/**
 * The unit of a user's own systemd. The sandboxes of tools are made of user, mount, pid and network namespaces, an own
 * /proc, a seccomp filter and cgroups, so these lines of the usual hardening are left out on purpose: RestrictNamespaces,
 * PrivateUsers, ProtectProc, ProtectKernelTunables and ProtectControlGroups (a locked /proc or cgroup tree cannot be
 * mounted again inside), SystemCallFilter (@mount is needed), ProtectHome (the home is there) and
 * MemoryDenyWriteExecute (V8 compiles).
 */
export function systemdUnit({ command, environment }: ServiceDefinition): string {
  const variables = Object.entries(environment).map(([name, value]) => `Environment=${quoteWord(`${name}=${value}`)}`)
  return `# ${marker} It is replaced by the next one; settings of your own belong into familiar.service.d/.
[Unit]
Description=Familiar, a personal agent
# Only a system's own manager knows this target; a user's passes over it.
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=300
StartLimitBurst=5

[Service]
Type=exec
ExecStart=:${command.map(quoteWord).join(' ')}
ExecReload=/bin/kill -HUP $MAINPID
${variables.join('\n')}
Restart=on-failure
RestartSec=5
TimeoutStopSec=${stopSeconds}
KillMode=mixed
Delegate=yes
OOMPolicy=continue
UMask=0077
LimitCORE=0
# No program that it starts gains rights by a set-user-id bit. Namespaces need none.
NoNewPrivileges=yes
# Every kind of socket but these is refused: Familiar speaks IP, and bubblewrap sets up loopback through netlink.
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
# Nothing here runs in real time, makes set-user-id files, or changes how the kernel runs programs.
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native

[Install]
WantedBy=default.target
`
}

/**
 * One word as systemd reads it in a command or an assignment. The ":" before the command keeps "$" as it is; "%" would
 * begin a specifier.
 */
export function quoteWord(word: string): string {
  const escaped = word
    .replace(/[\\"]/g, '\\$&')
    .replaceAll('%', '%%')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not stand in the file.
    .replace(/[\u0000-\u001f\u007f]/g, (unit) => `\\x${unit.charCodeAt(0).toString(16).padStart(2, '0')}`)
  return `"${escaped}"`
}

/** The manager of this machine, for this user; throws if there is none. */
export function ownManager({ env }: Pick<CommandContext, 'env'>): ServiceManager {
  const manager = knownManager({ env })
  if (manager) return manager
  throw new CommandError(`Background services are not supported on ${process.platform}.`, {
    code: 'unsupported',
    hint: 'Start "familiar serve" with the tools of your system.',
  })
}

/** Undefined if the machine has neither systemd nor launchd. */
export function knownManager({ env }: Pick<CommandContext, 'env'>): ServiceManager | undefined {
  if (process.platform === 'linux') return systemd(env.XDG_CONFIG_HOME?.trim() || join(homedir(), '.config'))
  if (process.platform === 'darwin') return launchd(homedir(), process.getuid?.() ?? 0)
  return undefined
}

/** Whether the service file exists and who wrote it. */
export function whoseFile(path: string): 'none' | 'ours' | 'foreign' {
  try {
    return readFileSync(path, 'utf8').includes(marker) ? 'ours' : 'foreign'
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return 'none'
    throw cause
  }
}

export function refuseForeign(path: string): CommandError {
  return new CommandError(`${path} was not written by Familiar.`, {
    code: 'conflict',
    hint: 'Check the file first. --force overwrites it.',
  })
}

export function notInstalled(): CommandError {
  return new CommandError('The service is not installed.', { code: 'not_found', hint: 'familiar service install' })
}
