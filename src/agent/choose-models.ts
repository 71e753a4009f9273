import type { LanguageModel } from '../models/model.ts'
import type { Models } from '../models/models.ts'
import type { Role } from './role.ts'

/** The model that a turn asks and its fallbacks: those of the role, unless there is a picture that they would not see. */
export function chooseModels(
  models: Models,
  { purpose, model }: Pick<Role, 'purpose' | 'model'>,
  turn: { source: string; messages: readonly { media: readonly { mediaType: string }[] }[] },
): readonly LanguageModel[] {
  const { source, messages } = turn
  const chosen = model === undefined ? undefined : models.byId(model)
  const usual = chosen ? [chosen] : models.route(purpose, source)
  const hasImage = messages.some(({ media }) => media.some(({ mediaType }) => mediaType.startsWith('image/')))
  if (!hasImage || usual[0]?.info.supportsVision) return usual
  const vision = models.route('vision', source)
  return vision[0]?.info.supportsVision ? vision : usual
}
