import { systemClock } from '../../base/clock.ts'
import { createIds } from '../../base/ids.ts'
import { checkRoutes } from '../../daemon/doctor/check-models.ts'
import { checkSandbox } from '../../daemon/doctor/check-sandbox.ts'
import { checkVoice } from '../../daemon/doctor/check-voice.ts'
import type { PartChecks } from '../../daemon/doctor/examine.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import { createModelSet } from '../../daemon/model-set.ts'
import { openSandbox } from '../../daemon/open-sandbox.ts'
import type { CommandContext } from '../command.ts'
import { withVoice } from '../voice/open-voice.ts'

/** Opens what a start would, for one look each. */
export function openParts(context: CommandContext): PartChecks {
  const { homePath } = context
  return {
    async routes({ config, environment }) {
      const models = createModelSet({ ids: createIds(systemClock()), addSecret: () => undefined })
      try {
        await models.use(config, environment)
        return checkRoutes(config, models)
      } finally {
        await models.close()
      }
    },
    voice: ({ config }) => withVoice(context, {}, (voice) => checkVoice(config, homePath, voice)),
    async sandbox({ config, environment }) {
      const directory = homePaths(homePath).sandbox
      const runtimeDirectory = environment.XDG_RUNTIME_DIR ?? null
      const sandbox = openSandbox({ settings: config.sandbox, directory, runtimeDirectory })
      try {
        return await checkSandbox(config, sandbox)
      } finally {
        await sandbox.close()
      }
    },
  }
}
