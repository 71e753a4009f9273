import type { Config } from './config.ts'
import type { Environment } from './environment.ts'
import type { Settings } from './settings-schema.ts'

type ToolsConfig = Pick<Config, 'tools' | 'sandbox' | 'policy' | 'mcp'>

/** `[tools]`, `[sandbox]`, `[policy]` and `[mcp]` with the keys in place of the keys' names. */
export function readTools(source: {
  file: string
  settings: Settings
  environment: Environment
  warnings: string[]
}): ToolsConfig {
  const { file, settings, environment, warnings } = source

  function resolved(variable: string | undefined, consequence: string): string | null {
    if (variable === undefined) return null
    const value = environment.get(variable)?.value
    if (value === undefined) warnings.push(`${file}: ${variable} is not set, so ${consequence}`)
    return value ?? null
  }

  const { web_search: search, tts, browser } = settings.tools
  return {
    tools: {
      enabled: settings.tools.enabled,
      directories: settings.tools.directories,
      exec: settings.tools.exec,
      webSearch: search
        ? {
            provider: search.provider,
            apiKey: resolved(search.api_key_env, `${search.provider} is asked without a key`),
            baseUrl: search.base_url ?? null,
          }
        : null,
      browser: { executable: browser.executable ?? null },
      tts: {
        provider: tts.provider,
        apiKey: resolved(tts.api_key_env, `${tts.provider} is asked without a key`),
        voice: tts.voice ?? null,
      },
    },
    sandbox: { driver: settings.sandbox.driver, containerSocket: settings.sandbox.container_socket ?? null },
    policy: { destinations: settings.policy.destinations, approvalMinutes: settings.policy.approval_minutes },
    mcp: {
      servers: Object.fromEntries(
        Object.entries(settings.mcp.servers).map(([name, server]) => [
          name,
          'command' in server
            ? server
            : {
                url: server.url,
                headers: Object.fromEntries(
                  Object.entries(server.header_env).flatMap(([header, variable]) => {
                    const value = resolved(variable, `${name} is asked without ${header}`)
                    return value === null ? [] : [[header, value]]
                  }),
                ),
              },
        ]),
      ),
    },
  }
}
