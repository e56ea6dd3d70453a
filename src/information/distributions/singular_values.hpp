// Eigen's divide-and-conquer SVD, compiled in one place: every file that instantiates it takes half a minute longer.
#pragma once

#include <Eigen/Dense>

extern template class Eigen::BDCSVD<Eigen::MatrixXd>;
