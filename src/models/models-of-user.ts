import { FamiliarError } from '../protocol/error.ts'
import type { Models, Purpose } from './models.ts'

const offlineId = 'offline/offline'

/**
 * The models as one user has them (CLIENT-4): the others cannot be found, whoever asks for them by name. Where none of
 * theirs is there any more, the offline one answers, not a dearer one.
 */
export function modelsOfUser(
  models: Models,
  own: {
    /** Ids, first the one that is tried first; undefined: the route of everybody. */
    route(purpose: Purpose): readonly string[] | undefined
    allows(modelId: string): boolean
  },
): Models {
  const byIds = (ids: readonly string[]) => ids.map(models.byId).filter((model) => model !== undefined)
  return {
    route(purpose, source) {
      const ids = own.route(purpose)
      if (!ids) return models.route(purpose, source)
      const [known, offline] = [byIds(ids), byIds([offlineId])]
      if (known.length === 0 && offline.length === 0) {
        throw new FamiliarError('forbidden', 'None of the models of your tier is there')
      }
      return known.length > 0 ? known : offline
    },
    byId: (id) => (own.allows(id) ? models.byId(id) : undefined),
    list: () => models.list().filter(({ info }) => own.allows(info.id)),
  }
}
