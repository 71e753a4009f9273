import { marker, type ServiceDefinition, stopSeconds } from './service-definition.ts'

export const launchdLabel = 'familiar'

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
