import { systemClock } from '../../src/base/clock.ts'
import type { Embedder } from '../../src/memory/embedding/embedders.ts'
import { createLocalEmbedder, localModelFolder } from '../../src/memory/embedding/local-embedder.ts'
import { FamiliarError } from '../../src/protocol/errors.ts'
import { hashDimensions, hashModel, hashVector } from './hash-vector.ts'

/**
 * Answers with hash projections, which is what the database is filled with, after the time that the local model takes to
 * embed the same text. `usesModel` is false where that model was not set up, or is not wanted.
 */
export async function createBenchEmbedder(wanted = true): Promise<{ embedder: Embedder; usesModel: boolean }> {
  const local = createLocalEmbedder({ folder: localModelFolder, clock: systemClock() })
  const usesModel = wanted && (await canEmbed(local))
  const embedder: Embedder = {
    model: hashModel,
    dimensions: hashDimensions,
    async embed(texts, use, signal) {
      if (usesModel) await local.embed(texts, use, signal)
      return texts.map(hashVector)
    },
    close: () => local.close(),
  }
  return { embedder, usesModel }
}

async function canEmbed(embedder: Embedder): Promise<boolean> {
  try {
    await embedder.embed(['a first text, so that the model is loaded'], 'question')
    return true
  } catch (error) {
    if (error instanceof FamiliarError && error.code === 'unavailable') return false
    throw error
  }
}
