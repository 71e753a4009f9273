import { z } from 'zod'
import { formatNanousd } from '../../base/money.ts'
import { plural } from '../../base/text.ts'
import { type ImageModel, type PictureRequest, pictureShapes } from '../../models/images.ts'
import type { MediaPart } from '../../protocol/messages.ts'
import { imageTypeOf } from '../files/references.ts'
import { defineTool, failed, type Tool, type ToolContext } from '../tool.ts'

/** Makes pictures within the budgets of the user. */
export type DrawPictures = (
  asked: PictureRequest & Pick<ToolContext, 'userId' | 'sessionId' | 'turnId' | 'signal'>,
) => Promise<
  | { ok: true; model: string; pictures: readonly Uint8Array[]; nanousd: number | null }
  | {
      ok: false
      kind: 'unconfigured' | 'budget' | 'refused' | 'unavailable' | 'stopped'
      message: string
      /** Another provider may do it. */
      isElsewhere?: true
    }
>

export interface ImageToolNeeds {
  images: () => readonly Pick<ImageModel, 'origin'>[]
  drawPictures: DrawPictures
  /** Puts a new file into the user's workspace. */
  addFile(file: { path: string; bytes: Uint8Array }, context: ToolContext): Promise<MediaPart>
}

const folder = 'images'
const endings: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
}

/** Pictures from a description, by the configured image model. They are files in the workspace. */
export function createImageTool({ images, drawPictures, addFile }: ImageToolNeeds): Tool {
  return defineTool({
    name: 'generate_image',
    description: 'Make a new picture from a description (draw, paint, photo, logo). The user gets it as a file.',
    input: z.object({
      prompt: z.string().trim().min(1).max(4_000).describe('Content and style of the picture'),
      shape: z.enum(pictureShapes).optional(),
      count: z.int().min(1).max(4).default(1),
      name: z.string().max(80).optional().describe('Name of the file'),
    }),
    effect: 'at-most-once',
    reach() {
      const [model] = images()
      // The owner configured this provider, so the call needs no further approval.
      return model
        ? { kind: 'reach', destination: model.origin, isApproved: true }
        : { kind: 'read', destination: null }
    },
    async run({ prompt, shape = null, count, name }, context) {
      const { userId, sessionId, turnId, signal } = context
      const drawn = await drawPictures({ prompt, shape, count, userId, sessionId, turnId, signal })
      if (!drawn.ok) {
        const { kind, message } = drawn
        if (kind === 'refused') return failed(`No picture was made. The provider refused it: ${message}`)
        if (kind === 'unavailable') {
          return { ...failed(`No picture was made. The provider is not available: ${message}`), serviceFailed: true }
        }
        return failed(`No picture was made. ${message}`)
      }
      const media: MediaPart[] = []
      for (const bytes of drawn.pictures) {
        const ending = endings[imageTypeOf(bytes) ?? '']
        if (ending)
          media.push(await addFile({ path: `${folder}/${fileName(name ?? prompt)}.${ending}`, bytes }, context))
      }
      if (media.length === 0) return failed(`No picture was made: ${drawn.model} sent something that is not a picture.`)
      const cost =
        drawn.nanousd === null
          ? `The price of ${drawn.model} is not configured, so what it cost is unknown.`
          : `It cost ${formatNanousd(drawn.nanousd)}.`
      const files = media.map((part) => part.path ?? part.name).join(', ')
      const less = media.length < count ? ` ${plural(count, 'was', 'were')} asked for.` : ''
      return {
        text: `The user has ${plural(media.length, 'picture')}: ${files}.${less} ${cost}`,
        isError: false,
        media,
      }
    },
  })
}

/** A short name of the first words, in any script. */
function fileName(text: string): string {
  const words = text
    .replace(/\.(?:png|jpe?g|gif|webp)$/i, '')
    .normalize('NFC')
    .replaceAll(/[^\p{L}\p{N}\p{M}]+/gu, '-')
    .replaceAll(/^-|-$/g, '')
  const short = words.length <= 40 ? words : words.slice(0, 41).replace(/-?[^-]*$/, '') || words.slice(0, 40)
  return short.toWellFormed().replaceAll('\uFFFD', '') || 'picture'
}
