from .aspects import dataset_aspects as dataset_aspects
from .chain import coascore as coascore
