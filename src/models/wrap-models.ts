import type { LanguageModel } from './model.ts'
import type { Models } from './models.ts'

/** The same models, each in what `wrap` makes of it, which is made once. */
export function wrapModels(models: Models, wrap: (model: LanguageModel) => LanguageModel): Models {
  const known = new WeakMap<LanguageModel, LanguageModel>()
  function wrapped(model: LanguageModel): LanguageModel {
    const made = known.get(model) ?? wrap(model)
    known.set(model, made)
    return made
  }
  return {
    route: (purpose, source) => models.route(purpose, source).map(wrapped),
    byId(id) {
      const model = models.byId(id)
      return model && wrapped(model)
    },
    list: () => models.list().map(wrapped),
  }
}
