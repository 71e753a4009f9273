import { marker, type ServiceDefinition, stopSeconds } from './service-definition.ts'

/**
 * The unit of a user's own systemd. Nothing in it takes away namespaces, mounts or the gaining of privileges, as the usual
 * hardening would: the sandboxes of tools are made of these. The sandbox is the wall.
 */
export function systemdUnit({ command, environment }: ServiceDefinition): string {
  const variables = Object.entries(environment).map(([name, value]) => `Environment=${quoteWord(`${name}=${value}`)}`)
  return `# ${marker} It is replaced by the next one; settings of your own belong into familiar.service.d/.
[Unit]
Description=Familiar, a personal agent
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
