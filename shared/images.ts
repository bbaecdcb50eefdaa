// Pictures that go with a message (SPEC G1): kept by hash in the blob store, named in the journal, sent with the requests to models that take
// them.

export const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const;
export type ImageType = (typeof IMAGE_TYPES)[number];

/** A picture of a message. `sha256` and `bytes` stand first and together, as in every reference to a blob. */
export interface ImageRef {
  readonly sha256: string;
  readonly bytes: number;
  readonly mediaType: ImageType;
  /** As the user named it, for people and the model. */
  readonly name: string;
  readonly width: number;
  readonly height: number;
}

/** A picture that is in no file. */
export interface PastedImage {
  readonly name: string;
  readonly bytes: Buffer;
}

/** Of one message. */
export const MOST_IMAGES = 10;

/** What a picture is about worth in tokens; providers scale large ones down. */
export const imageTokens = ({ width, height }: ImageRef): number => Math.min(1_600, Math.ceil((width * height) / 750));

export const imageLabel = ({ name, width, height }: ImageRef): string => `${name}, ${width}×${height}`;
