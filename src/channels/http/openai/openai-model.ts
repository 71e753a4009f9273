import { FamiliarError } from '../../../protocol/error.ts'
import type { OpenAiServices } from './openai-services.ts'

/** The agent with the model that the config, or the session, says. */
export const agentModel = 'familiar'

export const embeddingModel = 'familiar-embedding'

/** The id of a configured model; null for the agent as it is. `not_found` for any other name. */
export function chosenModel(services: Pick<OpenAiServices, 'modelsOf'>, userId: string, name: string): string | null {
  if (name === agentModel) return null
  const model = services.modelsOf(userId).byId(name)
  if (model) return model.info.id
  throw new FamiliarError(
    'not_found',
    `model: there is no model ${JSON.stringify(name)}; there is "${agentModel}", and what /v1/models lists`,
  )
}
